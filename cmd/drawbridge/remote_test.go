package main

import (
	"encoding/pem"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// forge serves the home's registries over https to a user with a password.
func (h *home) forge() string {
	h.t.Helper()
	out, err := exec.CommandContext(h.t.Context(), "git", "--exec-path").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	inner := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + h.work, "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ada" || password != "open-sesame-1753" {
			w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	h.t.Cleanup(srv.Close)
	ca := filepath.Join(h.work, "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.t.Setenv("GIT_SSL_CAINFO", ca)
	return srv.URL
}

// A registry behind a password is added and installed from by way of the user's
// credential helper; without one the command ends with 3 and says what to do.
func TestPrivateRegistry(t *testing.T) {
	h := newHome(t)
	user := filepath.Join(h.work, "user")
	if err := os.Mkdir(user, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", user)
	t.Setenv("XDG_CONFIG_HOME", user)
	address := h.forge() + "/reg.git"
	h.publish()
	key := h.fingerprint("key")
	seen := h.want(exitDenied, agree(), "registry", "add", address, key)
	if !strings.Contains(seen, "no credential helper that knows") || !strings.Contains(seen, "hint: git ls-remote "+address) {
		t.Errorf("without a helper:\n%s", seen)
	}
	config := "[credential]\n\thelper = \"!f() { test \\\"$1\\\" = get && printf 'username=ada\\\\npassword=open-sesame-1753\\\\n'; }; f\"\n"
	if err := os.WriteFile(filepath.Join(user, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	seen = h.want(exitOK, agree(), "registry", "add", address, key)
	if !strings.Contains(seen, "receiving: 100 %\r\n") {
		t.Errorf("the terminal shows no progress:\n%q", seen)
	}
	h.want(exitOK, agree(), "install", "acme/sample", "--set", "base_url=http://app.localhost:1")
	if _, msg, code := h.try("registry", "add", "https://ada:open-sesame-1753@git.example/x.git", key); code != exitUsage || strings.Contains(msg, "receiving") {
		t.Errorf("an address with a password: exit code %d, %s", code, msg)
	}
}
