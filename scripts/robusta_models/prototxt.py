"""Protobuf's text format: dicts are messages, lists are repeated fields."""


class Word(str):
    """A bare word of the text format (an enum value), printed without quotes."""


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Word):
        return str(value)
    return f'"{value}"' if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def is_short(message):
    """True for a message that reads better on one line: few fields, no message inside."""
    return len(message) <= 3 and not any(isinstance(v, (dict, list)) for v in message.values())


def text(message, indent=0):
    """The message as indented protobuf text; lists are repeated fields, dicts are messages."""
    lines, pad = [], "  " * indent
    for key, values in message.items():
        for value in values if isinstance(values, list) else [values]:
            if not isinstance(value, dict):
                lines.append(f"{pad}{key}: {scalar(value)}")
            elif is_short(value):
                inside = " ".join(f"{k}: {scalar(v)}" for k, v in value.items())
                lines.append(f"{pad}{key} {{ {inside} }}")
            else:
                lines += [f"{pad}{key} {{", text(value, indent + 1), f"{pad}}}"]
    return "\n".join(lines)
