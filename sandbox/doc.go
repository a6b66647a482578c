// Package sandbox runs one call in one WebAssembly instance in a worker process,
// with limits and with the host calls that were granted.
//
// A connector's module is hostile. Two walls stand around it: WebAssembly, and a
// process of its own, because a module can freeze or end any Go process that
// compiles or runs it and no deadline inside that process helps (RATIONALE.md
// has the measurements). The worker is this same program, started again with
// [WorkerCommand] as its only argument, an empty environment and no descriptors
// but three pipes. It is ended by SIGKILL.
//
//	[Prescan]         reads a module's headers; refuses it, or says what it imports
//	[Sandbox.Compile] prescan, compile in a worker, seal the machine code, ask describe
//	[Sandbox.Module]  a compiled module with its granted capabilities: a pool of workers
//	[Module.Run]      one call of one export in one fresh instance
//
// The package refuses every import that is not in one of the tables of
// imports.go, and trusts nothing that a worker says beyond what frame.go lets
// through. It makes no policy: what a host call may do is decided behind
// [HostCalls]. It never sees what the bytes mean, except that a result is JSON.
//
// Read run.go first, then hostcalls.go, then worker.go for the other side of
// the pipe.
package sandbox
