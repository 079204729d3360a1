import type { Log } from '../../src/lib/log.ts';
import type { WorldClock } from './clock.ts';
import type { MachineRunner } from './machine.ts';
import type { Switchboard } from './switchboard.ts';

/** One line of JSON that a room prints once it listens. It is a contract: foreign programs read it. */
export interface RoomLine {
  readonly room: string;
  /** What a client of the real thing would be given. */
  readonly url: string;
  readonly credentials: Readonly<Record<string, string>>;
  /** Path of a PEM file to trust, or null where no private CA is in play. */
  readonly ca: string | null;
}

/** What every room gets. */
export interface RoomOptions {
  readonly host: string;
  readonly port: number;
  /** A folder of the room's own for what it keeps on disk. It exists and is empty. */
  readonly folder: string;
  /** Parsed content of `--seed`, or undefined: a sensible small world. */
  readonly seed?: unknown;
  readonly clock: WorldClock;
  readonly switchboard: Switchboard;
  /** What "runs" when a machine is switched on. */
  readonly runner: MachineRunner;
  /** For people; a room may stay silent. */
  readonly log?: Log;
  /** Values of the room's own flags, by name. */
  readonly extra: Readonly<Record<string, string>>;
}

export interface RunningRoom {
  readonly line: RoomLine;
  /** Connections end and what is in flight is lost; what a restart of the real thing keeps stays. */
  restart?(): Promise<void>;
  close(): Promise<void>;
}

/** What can be said of a room without starting anything, so that little is loaded for it. */
export interface RoomFacts {
  readonly name: string;
  /** One sentence for `--help`. */
  readonly about: string;
  /** Names of its own flags, e.g. `version` for `--version 25.10`. */
  readonly flags?: readonly string[];
  /** It switches machines on. */
  readonly hasMachines?: true;
}

export interface Room extends RoomFacts {
  /** Throws a RangeError with a sentence when the seed or a flag makes no sense. */
  start(options: RoomOptions): Promise<RunningRoom>;
}
