"""People's labels: draw samples, ask a person about them on a page or in a terminal, and read the answers."""
