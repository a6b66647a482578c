package platform

import (
	"encoding/xml"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// ServiceLabel names the daemon to launchd, and ServiceUnit to systemd.
const (
	ServiceLabel = "io.github.drawbridge-mcp.drawbridge"
	ServiceUnit  = "drawbridge.service"
)

// A Service is the daemon as a service manager of the user's session starts it.
type Service struct {
	Program string            // absolute path
	Env     map[string]string // variables that it needs beside the session's
}

// A ServiceManager knows the file that one system's service manager reads.
type ServiceManager struct {
	File    func(getenv func(string) string) string // empty if there is no home directory
	Content func(Service) string
	// Enable, Disable and Status are command lines that tell the manager; FILE and
	// UID stand for themselves. Each is run in turn.
	Enable, Disable [][]string
	Status          []string
	// Links are files that Enable makes beside the service's, and Leave is what is
	// still to be told when Disable could not be, and all of them are gone.
	Links func(file string) []string
	Leave [][]string
}

// ServiceManagerOf returns the manager of a system (as runtime.GOOS); ok is false
// where there is none that we know.
func ServiceManagerOf(goos string) (m ServiceManager, ok bool) {
	switch goos {
	case "linux":
		return ServiceManager{
			File: systemdFile, Content: Service.systemd,
			Enable:  [][]string{{"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", "--now", ServiceUnit}},
			Disable: [][]string{{"systemctl", "--user", "disable", "--now", ServiceUnit}},
			Status:  []string{"systemctl", "--user", "is-active", ServiceUnit},
			Links: func(file string) []string {
				return []string{filepath.Join(filepath.Dir(file), "default.target.wants", ServiceUnit)}
			},
			Leave: [][]string{{"systemctl", "--user", "stop", ServiceUnit}, {"systemctl", "--user", "daemon-reload"}},
		}, true
	case "darwin":
		return ServiceManager{
			File: launchdFile, Content: Service.launchd,
			Enable:  [][]string{{"launchctl", "bootstrap", "gui/UID", "FILE"}},
			Disable: [][]string{{"launchctl", "bootout", "gui/UID/" + ServiceLabel}},
			Status:  []string{"launchctl", "print", "gui/UID/" + ServiceLabel},
			Links:   func(string) []string { return nil },
			Leave:   [][]string{{"launchctl", "bootout", "gui/UID/" + ServiceLabel}},
		}, true
	}
	return ServiceManager{}, false
}

func systemdFile(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "systemd", "user", ServiceUnit)
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "systemd", "user", ServiceUnit)
	}
	return ""
}

func launchdFile(getenv func(string) string) string {
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, "Library", "LaunchAgents", ServiceLabel+".plist")
	}
	return ""
}

// systemd is a unit for the user's own manager. It is restarted when it fails, and
// not when it was told to stop. The daemon ends its browser and its workers itself;
// what it leaves is ended with it.
func (s Service) systemd() string {
	var b strings.Builder
	b.WriteString(`[Unit]
Description=drawbridge: signed connectors in your browser, over MCP
Documentation=man:drawbridge(1)
StartLimitIntervalSec=60
StartLimitBurst=4

[Service]
Type=exec
`)
	fmt.Fprintf(&b, "ExecStart=%s serve --quiet\n", systemdWord(s.Program))
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		fmt.Fprintf(&b, "Environment=%s\n", systemdWord(name+"="+s.Env[name]))
	}
	b.WriteString(`Restart=on-failure
RestartSec=5
KillMode=mixed
TimeoutStopSec=30
UMask=0077

[Install]
WantedBy=default.target
`)
	return b.String()
}

// systemdWord quotes one word of a unit file, in which % and \ mean something and
// a carriage return ends a line as a line feed does; $ means nothing in a program's
// path and in Environment.
func systemdWord(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c == '\\' || c == '"':
			b.WriteString(`\` + string(c))
		case c == '%':
			b.WriteString("%%")
		default:
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

// launchd is an agent of the user's session.
func (s Service) launchd() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + ServiceLabel + `</string>
	<key>ProgramArguments</key>
	<array>
		<string>` + xmlText(s.Program) + `</string>
		<string>serve</string>
		<string>--quiet</string>
	</array>
`)
	if len(s.Env) > 0 {
		b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			fmt.Fprintf(&b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", xmlText(name), xmlText(s.Env[name]))
		}
		b.WriteString("\t</dict>\n")
	}
	b.WriteString(`	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>5</integer>
	<key>Umask</key>
	<integer>63</integer>
	<key>ProcessType</key>
	<string>Interactive</string>
</dict>
</plist>
`)
	return b.String()
}

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder doesn't fail
	return b.String()
}
