"""The parts of bench/serve_load.py: requests, clients, figures, the page."""
