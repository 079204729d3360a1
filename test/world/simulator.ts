import type { Log } from '../../src/lib/log.ts';
import type { CallInterceptor } from './faults/call-interceptor.ts';
import type { MachineRunner } from './machine-runner/machine.ts';
import type { ScaledClock } from './scaled-clock.ts';

/** One line of JSON that a room prints once it listens. It is a contract: foreign programs read it. */
export interface SimulatorAccess {
  readonly room: string;
  /** What a client of the real thing would be given. */
  readonly url: string;
  readonly credentials: Readonly<Record<string, string>>;
  /** Path of a PEM file to trust, or null where no private CA is in play. */
  readonly ca: string | null;
}

/** What every room gets. */
export interface SimulatorOptions {
  readonly host: string;
  readonly port: number;
  /** A folder of the room's own for what it keeps on disk. It exists and is empty. */
  readonly folder: string;
  /** Parsed content of `--seed`, or undefined: a sensible small world. */
  readonly seed?: unknown;
  readonly clock: ScaledClock;
  readonly switchboard: CallInterceptor;
  /** What "runs" when a machine is switched on. */
  readonly runner: MachineRunner;
  /** For people; a room may stay silent. */
  readonly log?: Log;
  /** Values of the room's own flags, by name. */
  readonly extra: Readonly<Record<string, string>>;
}

export interface RunningSimulator {
  readonly line: SimulatorAccess;
  /** Connections end and what is in flight is lost; what a restart of the real thing keeps stays. */
  restart?(): Promise<void>;
  close(): Promise<void>;
}

/** What can be said of a room without starting anything, so that little is loaded for it. */
export interface SimulatorDescription {
  readonly name: string;
  /** One sentence for `--help`. */
  readonly about: string;
  /** Names of its own flags, e.g. `version` for `--version 25.10`. */
  readonly flags?: readonly string[];
  /** It switches machines on. */
  readonly hasMachines?: true;
}

export interface Simulator extends SimulatorDescription {
  /** Throws a RangeError with a sentence when the seed or a flag makes no sense. */
  start(options: SimulatorOptions): Promise<RunningSimulator>;
}
