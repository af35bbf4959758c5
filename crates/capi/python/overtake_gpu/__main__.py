"""The command `overtake` of the wheel: `python -m overtake_gpu demo`."""

import os
import pathlib
import sys

COMMAND = pathlib.Path(__file__).resolve().parent / "bin" / "overtake"


def main():
    """Becomes the command, with the arguments of this process."""
    try:
        os.execv(COMMAND, [str(COMMAND), *sys.argv[1:]])
    except OSError as error:
        raise SystemExit(
            f"overtake_gpu: the command cannot be started: {COMMAND}: {error.strerror}. The wheel has it; "
            "`cargo xtask install` puts it into PREFIX/bin"
        ) from None


if __name__ == "__main__":
    main()
