package browser

import (
	"os/exec"
	"runtime"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Find returns the path of a Chromium or Chrome on this machine. Its error is an
// [abi.Error] whose hint says how to install one.
func Find() (string, error) {
	for _, name := range candidates(runtime.GOOS) {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", abi.Errorf(abi.ErrBrowserGone, "find browser", "no Chromium or Chrome on this machine").
		WithHint("%s", installHint(runtime.GOOS))
}

func candidates(goos string) []string {
	switch goos {
	case "darwin":
		return []string{
			"/Applications/Chromium.app/Contents/MacOS/Chromium",
			"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		}
	case "windows":
		return []string{
			"chrome.exe",
			`C:\Program Files\Google\Chrome\Application\chrome.exe`,
			`C:\Program Files (x86)\Google\Chrome\Application\chrome.exe`,
		}
	default:
		return []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}
	}
}

func installHint(goos string) string {
	if goos == "linux" {
		return "sudo apt-get install chromium"
	}
	return "install Chromium or Google Chrome, or name its path in the configuration"
}
