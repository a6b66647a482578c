package main

import (
	"encoding/json"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// What commands print with --json, where no other package has the type. It is one
// object each, and a public contract: RATIONALE.md says by which rules it is made,
// testdata/shapes.txt holds all of it.

// The lists.
type (
	pluginsResult struct {
		Plugins []listedPlugin `json:"plugins"`
	}
	outdatedResult struct {
		Plugins []host.OutdatedPlugin `json:"plugins"`
	}
	verifiedResult struct {
		Plugins []host.VerifiedPlugin `json:"plugins"`
	}
	updatedResult struct {
		Plugins []host.UpdateResult `json:"plugins"`
	}
	registriesResult struct {
		Registries []host.RegistryInfo `json:"registries"`
	}
	fetchedResult struct {
		Registries []host.FetchedRegistry `json:"registries"`
	}
	connectorsResult struct {
		Connectors []host.ConnectorHealth `json:"connectors"`
	}
	toolsResult struct {
		Tools []control.Tool `json:"tools"`
	}
	approvalsResult struct {
		Approvals []control.Approval `json:"approvals"`
	}
	clientsResult struct {
		Clients []control.ClientInfo `json:"clients"`
	}
	removedRegistriesResult struct {
		Registries []host.RemovedInfo `json:"registries"`
	}
	formerTeamsResult struct {
		Teams []host.FormerTeamInfo `json:"teams"`
	}
	teamsResult struct {
		Teams []host.TeamInfo `json:"teams"`
	}
	keysResult struct {
		Keys []keyResult `json:"keys"`
	}
	auditResult struct {
		Entries []audit.Record `json:"entries"`
	}
	logsResult struct {
		Records []json.RawMessage `json:"records"`
	}
	doctorResult struct {
		Checks []checkResult `json:"checks"`
	}
)

// An errorResult is what a command prints that could not do what it was to do.
type errorResult struct {
	Error control.Error `json:"error"`
}

// A checkResult is one thing that doctor looked at.
type checkResult struct {
	Check  string         `json:"check"`
	OK     bool           `json:"ok"`
	Detail string         `json:"detail,omitempty"` // what is well
	Error  *control.Error `json:"error,omitempty"`  // what is not, and the command that mends it
}

// A versionResult is what this program is.
type versionResult struct {
	Version string `json:"version"`
	ABI     int    `json:"abi"`
}

type stopResult struct {
	Stopped bool `json:"stopped"`
}

type scriptResult struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

type manualResult struct {
	Dir   string   `json:"dir"`
	Pages []string `json:"pages"` // files
}

type clientConfigResult struct {
	Client string `json:"client"`           // one that --print-config takes
	File   string `json:"file"`             // that it reads; empty if that isn't known
	Config string `json:"config,omitempty"` // what has to stand in it
	Backup string `json:"backup,omitempty"` // the file as it was before
}

type mayAskResult struct {
	Client string `json:"client"`
	MayAsk bool   `json:"may_ask"`
}

type clientRemovedResult struct {
	Client  string `json:"client"`
	Removed bool   `json:"removed"`
}

type registryRemovedResult struct {
	Registry  string `json:"registry"`
	Removed   bool   `json:"removed"`
	Forgotten bool   `json:"forgotten,omitempty"` // what was seen of it too
}

type keyRemovedResult struct {
	Fingerprint string `json:"fingerprint"`
	Removed     bool   `json:"removed"`
}

type teamRemovedResult struct {
	Team      string `json:"team"`
	Removed   bool   `json:"removed"`
	Forgotten bool   `json:"forgotten,omitempty"` // what was seen of them too
}

type loginResult struct {
	Connector string `json:"connector"`
	control.LoginResult
}

type logoutResult struct {
	Connector string `json:"connector"`
	control.LogoutResult
}

// A builtResult is a connector's build; a signedResult its signature.
type builtResult struct {
	Plugin      string   `json:"plugin"` // namespace/name
	Version     string   `json:"version"`
	Registry    string   `json:"registry"`
	Dir         string   `json:"dir"`
	Module      string   `json:"module"` // sha256
	ModuleBytes int64    `json:"module_bytes"`
	Permissions []string `json:"permissions"` // in plain words
}

type signedResult struct {
	Plugin  string `json:"plugin"` // namespace/name
	Version string `json:"version"`
	Dir     string `json:"dir"`
	Signer  string `json:"signer"` // fingerprint
}

type registryMadeResult struct {
	Registry    string `json:"registry"`
	Dir         string `json:"dir"`
	Fingerprint string `json:"fingerprint"` // by which users pin it
}

// A refreshed is what registry refresh prints.
type refreshed struct {
	Dir         string    `json:"dir"`
	Refreshed   bool      `json:"refreshed"` // false if it wasn't due
	Snapshot    int64     `json:"snapshot"`
	Expires     time.Time `json:"expires"`
	RootExpires time.Time `json:"root_expires"`
}

// A changed is what a command that changes a registry prints.
type changed struct {
	Dir     string                  `json:"dir"`
	Done    string                  `json:"done"`              // in plain words
	Pending *registry.PendingChange `json:"pending,omitempty"` // not in force yet
}

// An installedResult is the plugin that install was asked for.
type installedResult struct {
	host.PluginInfo

	Unchanged bool `json:"unchanged,omitempty"` // it was there already, just so
}

type pushedResult struct {
	Dir string `json:"dir"`
	URL string `json:"url"`
}

// A pendingResult is the change that waits for signatures, or that was just signed.
type pendingResult struct {
	Dir     string                  `json:"dir"`
	Pending *registry.PendingChange `json:"pending,omitempty"` // left out if nothing waits
}

// A keyResult is one key as the key commands show it.
type keyResult struct {
	Fingerprint string         `json:"fingerprint"`
	Secret      bool           `json:"secret"`
	UserIDs     []string       `json:"user_ids"`
	Created     time.Time      `json:"created,omitzero"`
	Expires     time.Time      `json:"expires,omitzero"` // left out: never
	Reason      signing.Detail `json:"reason,omitempty"` // why no signature of it counts now
	File        string         `json:"file"`
	PublicKey   string         `json:"public_key,omitempty"`
	Error       *control.Error `json:"error,omitempty"` // why its file can't be read
}

type newKeyResult struct {
	Fingerprint string `json:"fingerprint"`
	File        string `json:"file"`
	Certificate string `json:"certificate,omitempty"` // a file; the keyring has none
	PublicKey   string `json:"public_key"`
}

// An exportedKey has one of the two.
type exportedKey struct {
	Fingerprint string `json:"fingerprint"`
	PublicKey   string `json:"public_key,omitempty"`
	SecretKey   string `json:"secret_key,omitempty"` // encrypted
}

type serviceInstalled struct {
	File    string   `json:"file"`
	Started bool     `json:"started"`
	Later   []string `json:"later"` // commands that are still to be run
}

type serviceRemoved struct {
	File    string   `json:"file"`
	Removed bool     `json:"removed"` // false if there was none
	Later   []string `json:"later"`
}

type serviceState struct {
	File      string `json:"file"`
	Installed bool   `json:"installed"`
	Current   bool   `json:"current"` // its file is the one that this program would write
	Running   bool   `json:"running"` // as the service manager says
}
