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
  /** Words after the known flags, e.g. `--version 25.10`, by name. */
  readonly extra: Readonly<Record<string, string>>;
}

export interface RunningRoom {
  readonly line: RoomLine;
  close(): Promise<void>;
}

export interface Room {
  readonly name: string;
  /** One sentence for `--help`. */
  readonly about: string;
  start(options: RoomOptions): Promise<RunningRoom>;
}
