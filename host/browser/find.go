package browser

import (
	"context"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"time"

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
	switch goos {
	case "darwin":
		return "brew install --cask chromium"
	case "windows":
		return "winget install --id Google.Chrome"
	}
	return "sudo apt-get install chromium"
}

// MinMajor is the oldest major version of Chromium that is promised to work.
// Older ones lack commands that the guard stands on, such as
// Network.emulateNetworkConditionsByRule, and fail when the first tab is opened.
const MinMajor = 144

// versionTimeout bounds how long a browser may take to say its version.
const versionTimeout = 20 * time.Second

// versionNumber matches the major version in what --version prints.
var versionNumber = regexp.MustCompile(`\b([0-9]{2,4})\.[0-9]+\.[0-9]+\.[0-9]+\b`)

// Version asks the program at path for its version and returns what it says and
// its major version, 0 if it says none. Its error is an [abi.Error] with the
// command that brings another one, if it can't be run or is too old.
func Version(ctx context.Context, path string) (text string, major int, err error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.WaitDelay = environment(nil), time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", 0, abi.Errorf(abi.ErrBrowserGone, "find browser", "%q does not say its version: %w", path, err).WithHint("%s", installHint(runtime.GOOS))
	}
	m := versionNumber.FindSubmatch(out)
	if m == nil {
		return abi.Shorten(string(out), 100), 0, nil
	}
	text = string(m[0])
	if major, err = strconv.Atoi(string(m[1])); err == nil && major < MinMajor {
		err = abi.Errorf(abi.ErrUnsupportedAction, "find browser", "%q has version %s, and %d is the oldest that works", path, text, MinMajor).
			WithHint("%s", upgradeHint(runtime.GOOS))
	}
	return text, major, err
}

func upgradeHint(goos string) string {
	switch goos {
	case "darwin":
		return "brew upgrade --cask chromium"
	case "windows":
		return "winget upgrade --id Google.Chrome"
	}
	return "sudo apt-get update && sudo apt-get install --only-upgrade chromium"
}
