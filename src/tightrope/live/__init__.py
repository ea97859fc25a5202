"""The live page: what is known of runs so far, served to a browser on this machine and to nobody else.

::

    browser ─→ server ─→ access                whether a request is let in
                      └→ pages ─→ served_runs  which run folders there are; nothing else is ever served
                               └→ report       the page itself, as `tightrope report` writes it

It plays nothing and writes nothing. Beside a run it is a process of its own, which ends with the run.
"""
