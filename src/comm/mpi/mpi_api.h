/// MPI's C interface, found by name when there are ranks.
///
/// Debian's libmpi brings twenty libraries with it, which a program that runs alone needs not load, and machines
/// without MPI need not have. The names below are those of this file's namespace; base/late_library.h says how that
/// works.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "base/late_library.h"

namespace robusta {

/// Address of a symbol of the MPI library. Throws Error{kCommunication} where the library or the symbol is not on this
/// machine.
void* find_in_mpi(const char* symbol);

/// 0 where the library has no such symbol.
void* look_for_in_mpi(const char* symbol);

/// Whether a symbol has been looked for: without that no MPI of ours runs.
bool mpi_is_loaded();

// Open MPI's constants are addresses of its variables; those of MPICH are numbers.
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, variable)           \
  ([] {                                                  \
    static void* const address = find_in_mpi(#variable); \
    return static_cast<type>(address);                   \
  }())
#endif

#define ROBUSTA_MPI_FUNCTION(name) ROBUSTA_LATE_FUNCTION(find_in_mpi, name)
ROBUSTA_MPI_FUNCTION(MPI_Abort);
ROBUSTA_MPI_FUNCTION(MPI_Allgather);
ROBUSTA_MPI_FUNCTION(MPI_Allreduce);
ROBUSTA_MPI_FUNCTION(MPI_Bcast);
ROBUSTA_MPI_FUNCTION(MPI_Comm_dup);
ROBUSTA_MPI_FUNCTION(MPI_Comm_free);
ROBUSTA_MPI_FUNCTION(MPI_Comm_group);
ROBUSTA_MPI_FUNCTION(MPI_Comm_rank);
ROBUSTA_MPI_FUNCTION(MPI_Comm_set_errhandler);
ROBUSTA_MPI_FUNCTION(MPI_Comm_size);
ROBUSTA_MPI_FUNCTION(MPI_Comm_split);
ROBUSTA_MPI_FUNCTION(MPI_Comm_split_type);
ROBUSTA_MPI_FUNCTION(MPI_Error_string);
ROBUSTA_MPI_FUNCTION(MPI_Finalize);
ROBUSTA_MPI_FUNCTION(MPI_Finalized);
ROBUSTA_MPI_FUNCTION(MPI_Group_free);
ROBUSTA_MPI_FUNCTION(MPI_Group_translate_ranks);
ROBUSTA_MPI_FUNCTION(MPI_Iallgather);
ROBUSTA_MPI_FUNCTION(MPI_Iallreduce);
ROBUSTA_MPI_FUNCTION(MPI_Ibarrier);
ROBUSTA_MPI_FUNCTION(MPI_Ibcast);
ROBUSTA_MPI_FUNCTION(MPI_Info_create);
ROBUSTA_MPI_FUNCTION(MPI_Info_free);
ROBUSTA_MPI_FUNCTION(MPI_Info_set);
ROBUSTA_MPI_FUNCTION(MPI_Init_thread);
ROBUSTA_MPI_FUNCTION(MPI_Initialized);
ROBUSTA_MPI_FUNCTION(MPI_Irecv);
ROBUSTA_MPI_FUNCTION(MPI_Isend);
ROBUSTA_MPI_FUNCTION(MPI_Testall);
ROBUSTA_MPI_FUNCTION(MPI_Win_allocate_shared);
ROBUSTA_MPI_FUNCTION(MPI_Win_free);
ROBUSTA_MPI_FUNCTION(MPI_Win_shared_query);
#undef ROBUSTA_MPI_FUNCTION

}  // namespace robusta
