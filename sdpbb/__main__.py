"""`python -m sdpbb` is the command `sdpbb`."""

from sdpbb.cli import main

if __name__ == "__main__":
    main()
