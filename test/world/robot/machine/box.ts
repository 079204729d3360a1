import type { Log } from '../../../../src/lib/log.ts';
import type { WorldClock } from '../../clock.ts';
import type { MachineRunner } from '../../machine.ts';
import type { Switchboard } from '../../switchboard.ts';
import type { DiskWrite, Hardware } from '../hardware.ts';
import type { Delays } from '../seed.ts';
import type { Board } from '../seed-hardware.ts';
import type { Software } from '../software.ts';
import type { Activation } from '../state.ts';

/** What a machine is, where it stands, and what it may use. */
export interface Box {
  readonly number: number;
  readonly uuid: string;
  /** Main IPv4; null: nothing of it can be reached. */
  readonly address: string | null;
  readonly prefix: number;
  readonly gateway: string;
  readonly sshPort: number;
  readonly hardware: Hardware;
  /** Serials of drives on which what was trimmed can be read on. */
  readonly keepTrimmed: ReadonlySet<string>;
  /** Habits and troubles of the mainboard. A test may change them at any time. */
  readonly board: { -readonly [Key in keyof Board]: Board[Key] };
  readonly delays: Delays;
  readonly clock: WorldClock;
  /** Ends every wait when the room closes. */
  readonly signal: AbortSignal;
  readonly software: Software;
  readonly runner: MachineRunner;
  readonly switchboard: Switchboard;
  readonly serialLog: string;
  readonly log: Log | undefined;
  readonly onWrite: (write: DiskWrite) => void;
  /** A network boot asks what is armed, and takes it. */
  takeArmed(): Activation | undefined;
  /** The firewall on the switch keeps the network boot away. */
  isNetworkCut(): boolean;
}

/** How a boot ends. */
export type Ending = 'reboot' | 'off';

/** What runs, while it runs. */
export interface Occupant {
  /** Ends by itself. */
  readonly ended: Promise<Ending>;
  /** Another one at each boot; undefined where nobody can ask. */
  readonly bootId?: string | undefined;
  /** Ctrl-Alt-Del, or the power button. It may be ignored. */
  press(wish: Ending): void;
  /** The power goes: at once, and nothing is left when it resolves. */
  close(): Promise<void>;
}
