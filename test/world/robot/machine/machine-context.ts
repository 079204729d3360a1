import type { Log } from '../../../../src/lib/log.ts';
import type { CallInterceptor } from '../../faults/call-interceptor.ts';
import type { MachineRunner } from '../../machine-runner/machine.ts';
import type { ScaledClock } from '../../scaled-clock.ts';
import type { DiskWrite, ServerHardware } from '../hardware.ts';
import type { BoardBehaviour } from '../setup/hardware-seed.ts';
import type { Delays } from '../setup/seed.ts';
import type { BootActivation } from '../state.ts';
import type { ServerSoftware } from './software.ts';

/** What a machine is, where it stands, and what it may use. */
export interface MachineContext {
  readonly number: number;
  readonly uuid: string;
  /** Main IPv4; null: nothing of it can be reached. */
  readonly address: string | null;
  readonly prefix: number;
  readonly gateway: string;
  readonly sshPort: number;
  readonly hardware: ServerHardware;
  /** Serials of drives on which what was trimmed can be read on. */
  readonly keepTrimmed: ReadonlySet<string>;
  /** Habits and troubles of the mainboard. A test may change them at any time. */
  readonly board: { -readonly [Key in keyof BoardBehaviour]: BoardBehaviour[Key] };
  readonly delays: Delays;
  readonly clock: ScaledClock;
  /** Ends every wait when the room closes. */
  readonly signal: AbortSignal;
  readonly software: ServerSoftware;
  readonly runner: MachineRunner;
  readonly switchboard: CallInterceptor;
  readonly serialLog: string;
  readonly log: Log | undefined;
  readonly onWrite: (write: DiskWrite) => void;
  /** A network boot asks what is armed, and takes it. */
  takeArmed(): BootActivation | undefined;
  /** The firewall on the switch keeps the network boot away. */
  isNetworkCut(): boolean;
}

/** How a boot ends. */
export type PowerAction = 'reboot' | 'off';

/** What runs, while it runs. */
export interface RunningSystem {
  /** Ends by itself. */
  readonly ended: Promise<PowerAction>;
  /** Another one at each boot; undefined where nobody can ask. */
  readonly bootId?: string | undefined;
  /** Ctrl-Alt-Del, or the power button. It may be ignored. */
  press(wish: PowerAction): void;
  /** The power goes: at once, and nothing is left when it resolves. */
  close(): Promise<void>;
}
