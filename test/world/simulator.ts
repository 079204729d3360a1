import type { Log } from '../../src/lib/log.ts';
import type { CallInterceptor } from './faults/call-interceptor.ts';
import type { MachineRunner } from './machine-runner/machine.ts';
import type { ScaledClock } from './scaled-clock.ts';

/** One line of JSON that a simulator prints once it listens. It is a contract: other programs read it. */
export interface SimulatorAccess {
  readonly simulator: string;
  /** The endpoint and credentials that a client of the real service would be given. */
  readonly url: string;
  readonly credentials: Readonly<Record<string, string>>;
  /** Path of a PEM file to trust, or null without a private CA. */
  readonly ca: string | null;
}

/** Options that every simulator gets. */
export interface SimulatorOptions {
  readonly host: string;
  readonly port: number;
  /** A folder for the simulator's files. It exists and is empty. */
  readonly folder: string;
  /** Parsed content of `--seed`. Undefined: a small default. */
  readonly seed?: unknown;
  readonly clock: ScaledClock;
  readonly switchboard: CallInterceptor;
  /** Runs a machine when it is switched on. */
  readonly runner: MachineRunner;
  /** Progress messages for people; optional. */
  readonly log?: Log;
  /** Values of the simulator's own flags, by name. */
  readonly extra: Readonly<Record<string, string>>;
}

export interface RunningSimulator {
  readonly line: SimulatorAccess;
  /** Connections end and calls in flight are lost. State that survives a restart of the real service stays. */
  restart?(): Promise<void>;
  close(): Promise<void>;
}

/** Metadata of a simulator that is available without loading its implementation. */
export interface SimulatorDescription {
  readonly name: string;
  /** One sentence for `--help`. */
  readonly about: string;
  /** Names of its own flags, e.g. `version` for `--version 25.10`. */
  readonly flags?: readonly string[];
  /** The simulator switches machines on. */
  readonly hasMachines?: true;
}

export interface Simulator extends SimulatorDescription {
  /** Throws a RangeError with a sentence when the seed or a flag is invalid. */
  start(options: SimulatorOptions): Promise<RunningSimulator>;
}
