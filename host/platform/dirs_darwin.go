package platform

import "path/filepath"

func systemDirs(getenv func(string) string) (Dirs, error) {
	home := getenv("HOME")
	if home == "" {
		return Dirs{}, noHome("HOME")
	}
	d := under(filepath.Join(home, "Library", "Application Support", "drawbridge"))
	d.cache = filepath.Join(home, "Library", "Caches", "drawbridge")
	return d, nil
}
