# What a contributor runs. Versions of tools are pinned here and installed to
# .bin/, so that go.mod lists only what the product is built from.
GOFUMPT_VERSION  := v0.9.2
GOLANGCI_VERSION := v2.15.0
KREW_VERSION     := v0.4.3
HELM_VERSION     := v4.3.2

BIN     := $(CURDIR)/.bin
GO      ?= go
DRAWBRIDGE := $(BIN)/drawbridge
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
WASI    := GOOS=wasip1 GOARCH=wasm

# Packages whose tests drive Chromium, or compile whole guests: one at a time, so
# that they don't take each other's processors.
BROWSERS := /(host/browser|test/e2e|test/tck|cmd/drawbridge)$$

# Of these, the ones that take whole minutes more with the race detector; make
# race runs them with it.
LONG := /(test/e2e|test/tck|cmd/drawbridge)$$

.DEFAULT_GOAL := build
.PHONY: build snapshot demo test race test-browser test-sites conformance check lint fuzz bench bench-peers bench-registry crash hostile mutants deps deps-npm clean help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# The program carries a signed snapshot of these connectors. It is made again when
# one of them, or what they are built with, has changed.
CARRIED := cmd/drawbridge/builtin/registry.json
CARRIED_SOURCES := $(shell find abi $(addprefix connectors-src/,tracker tracker-suite requesttracker mantis) \
	-name '*.go' ! -name '*_test.go' -o -name plugin.yaml) test/scripts/snapshot.sh
COMPILE = $(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o $(DRAWBRIDGE) ./cmd/drawbridge

build: $(CARRIED) ## build the command to .bin/drawbridge, with the connectors that it carries
	$(COMPILE)

$(CARRIED): $(CARRIED_SOURCES)
	@mkdir -p $(BIN)
	$(COMPILE)
	@KEY=$(KEY) test/scripts/snapshot.sh $(DRAWBRIDGE)

snapshot: ## build it for a release: KEY=FILE signs the connectors that it carries, in place of a key that is thrown away
	@rm -f $(CARRIED)
	@$(MAKE) --no-print-directory build KEY=$(KEY)
	@ls -l $(DRAWBRIDGE) | awk '{print $$9 ": " $$5 " bytes"}'

deps: ## install what is missing: Chromium and Git
	@test/scripts/deps.sh

deps-npm:
	@test/scripts/deps.sh npm
	@if command -v npm >/dev/null; then npm ci --silent --no-audit --no-fund --prefix test/tck/guests/as; fi

demo: deps build ## run the main job from start to end; KEEP=1 leaves the host running
	@$(DRAWBRIDGE) demo --source $(CURDIR) $(if $(KEEP),--keep)

test: deps deps-npm ## all tests, with real Chromium, real Git, real keys and other people's clients
	$(GO) test -race -shuffle=on -timeout 20m $$($(GO) list ./... | grep -Ev '$(BROWSERS)')
	$(GO) test -race -shuffle=on -timeout 20m $$($(GO) list ./... | grep -E '$(BROWSERS)' | grep -Ev '$(LONG)')
	$(GO) test -shuffle=on -timeout 20m -p 1 $$($(GO) list ./... | grep -E '$(LONG)')
	@test/scripts/not-run.sh

race: deps ## the end-to-end tests under the race detector too
	$(GO) test -race -shuffle=on -timeout 40m -p 1 $$($(GO) list ./... | grep -E '$(LONG)')

test-browser: deps ## the browser suite whole and long, launched and attached; DRAWBRIDGE_HEADED=1 attaches to one with windows
	DRAWBRIDGE_LONG=1 $(GO) test -race -timeout 20m -run 'TestLaunch$$|TestAttach$$' ./host/browser

test-sites: deps build ## end-to-end tests against Request Tracker from its Debian package
	test/scripts/test-sites.sh

conformance: deps-npm ## the protocol's own test suite, two releases of it, against host/mcpserver
	$(GO) test -count=1 -timeout 30m -v -run '^(TestSuites|TestProgress|TestLogging)' ./test/conformance -conformance
	$(GO) test -count=1 -timeout 30m -run 'EqualIDsInManyClients' ./host/mcpserver -each 10000
	DRAWBRIDGE_LONG=1 $(GO) test -count=1 -timeout 10m -run '^TestInspector' ./test/clients

check: $(BIN)/gofumpt ## formatting, vet, generated files, the import table
	@out=$$($(BIN)/gofumpt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofumpt would change:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(WASI) $(GO) vet ./abi/ ./abi/sdk/ ./connectors-src/tracker/ ./connectors-src/tracker-suite/ ./connectors-src/trespasser/ ./connectors-src/requesttracker/ ./connectors-src/mantis/
	GOOS=darwin $(GO) vet ./host/platform/ ./sandbox/
	GOOS=windows $(GO) vet ./host/platform/ ./sandbox/
	$(GO) mod tidy -diff
	$(GO) generate ./...
	@git diff --exit-code --stat -- abi || { echo "generated files are behind: commit the result of go generate ./..."; exit 1; }
	$(GO) test ./test/arch/

lint: $(BIN)/golangci-lint ## golangci-lint for the host and for guests
	$(BIN)/golangci-lint run ./...
	$(WASI) $(BIN)/golangci-lint run ./abi/sdk/ ./connectors-src/tracker/ ./connectors-src/tracker-suite/ ./connectors-src/trespasser/ ./connectors-src/requesttracker/ ./connectors-src/mantis/

fuzz: ## every fuzz target for 30 s
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime 30s $$pkg || exit 1; \
	  done; \
	done

crash: ## kill installs, rollbacks and removals at a few hundred moments; DRAWBRIDGE_CRASH_ROUNDS is how many
	DRAWBRIDGE_CRASH_ROUNDS=$${DRAWBRIDGE_CRASH_ROUNDS:-100} $(GO) test ./registry -count=1 -timeout 30m -v -run '^(TestKilled|TestTwoProcesses)'

hostile: ## a thousand hostile trees through registry check, and what it accepts through a client
	DRAWBRIDGE_LONG=1 $(GO) test ./registry -count=1 -timeout 30m -run '^FuzzCheck$$'

bench: deps build ## speed as ratios: JSON to dist/bench.json, a table to standard output (README=1: into the README)
	@mkdir -p dist
	$(GO) run ./test/bench/report -out $(CURDIR)/dist/bench.json $(if $(README),-readme README.md)

bench-peers: deps build ## the same page read by other MCP servers, from npm: JSON to dist/bench-peers.json, a table (README=1: into the README)
	@mkdir -p dist
	$(GO) run ./test/bench/peers -source $(CURDIR) -drawbridge $(DRAWBRIDGE) -out $(CURDIR)/dist/bench-peers.json $(if $(README),-readme README.md)

bench-registry: ## installing one connector from a registry of 500, beside clones and krew: JSON to dist/bench-registry.json, a table (README=1: into the README)
	@mkdir -p dist
	@GOBIN=$(BIN) $(GO) install sigs.k8s.io/krew/cmd/krew@$(KREW_VERSION) || echo "krew can't be installed: its column stays empty"
	@GOBIN=$(BIN) $(GO) install helm.sh/helm/v4/cmd/helm@$(HELM_VERSION) || echo "helm can't be installed: its column stays empty"
	$(GO) run ./test/bench/registries -krew "$$(ls $(BIN)/krew 2>/dev/null)" -helm "$$(ls $(BIN)/helm 2>/dev/null)" -out $(CURDIR)/dist/bench-registry.json $(if $(README),-readme README.md)

mutants: deps ## take each check out in a scratch copy and see its test fail
	$(GO) run ./test/mutants

$(BIN)/gofumpt:
	GOBIN=$(BIN) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)

$(BIN)/golangci-lint:
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

clean: ## remove what was built
	rm -rf $(BIN) dist .cache cmd/drawbridge/builtin/registry.bundle cmd/drawbridge/builtin/registry.json
