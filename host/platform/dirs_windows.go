package platform

import "path/filepath"

func systemDirs(getenv func(string) string) (Dirs, error) {
	roaming, local := getenv("APPDATA"), getenv("LOCALAPPDATA")
	if roaming == "" {
		return Dirs{}, noHome("APPDATA")
	}
	if local == "" {
		return Dirs{}, noHome("LOCALAPPDATA")
	}
	d := under(filepath.Join(local, "drawbridge"))
	d.config = filepath.Join(roaming, "drawbridge")
	return d, nil
}
