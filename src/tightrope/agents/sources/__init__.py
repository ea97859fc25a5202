"""Where agents come from: files, folders, modules, the Hub."""
