//go:build !linux

package browser

import "os/exec"

// BUG(browser): on systems other than Linux a browser whose host was killed
// ends only when it notices that its pipe closed.
func setProcessAttributes(*exec.Cmd) {}

func killGroup(int) {}
