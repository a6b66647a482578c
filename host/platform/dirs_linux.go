package platform

func systemDirs(getenv func(string) string) (Dirs, error) { return xdgDirs(getenv) }
