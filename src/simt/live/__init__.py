"""The live page: type, and several systems translate at the same time, word by word.

A face of the session like `simt translate`, with a browser in the place of the terminal.
``systems`` is what is served, ``lanes`` follow a text, ``tabs`` keep browsers apart, ``server``
is what they talk to; ``page.html``, ``live.css`` and ``live.js`` are what they show.
"""
