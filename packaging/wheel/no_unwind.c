// libunwind's functions that Debian's glog calls to show a stack trace before it ends a program. That library's archive
// fits into programs alone, and Robusta's errors end with words of their own: here there are no frames to show.

enum { kNone = 0, kNoSuchRegister = -3 };  // of libunwind.h: UNW_ESUCCESS, and for no further frame; UNW_EBADREG

int _Ux86_64_getcontext(void* context) {
  (void)context;
  return kNone;
}
int _ULx86_64_init_local(void* cursor, void* context) {
  (void)cursor, (void)context;
  return kNone;
}
int _ULx86_64_step(void* cursor) {
  (void)cursor;
  return kNone;
}
int _ULx86_64_get_reg(void* cursor, int number, void* value) {
  (void)cursor, (void)number, (void)value;
  return kNoSuchRegister;
}
