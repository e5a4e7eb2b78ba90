"""`python -m bowerbird`: the command line, where the installed command is not on the path."""

from bowerbird.cli import main

if __name__ == "__main__":
    main()
