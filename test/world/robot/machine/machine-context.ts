import type { Log } from '../../../../src/lib/log.ts';
import type { CallInterceptor } from '../../faults/call-interceptor.ts';
import type { MachineRunner } from '../../machine-runner/machine.ts';
import type { ScaledClock } from '../../scaled-clock.ts';
import type { DiskWrite, ServerHardware } from '../hardware.ts';
import type { BoardBehaviour } from '../setup/hardware-seed.ts';
import type { Delays } from '../setup/seed.ts';
import type { BootActivation } from '../state.ts';
import type { ServerSoftware } from './software.ts';

/** The properties of a machine, and its dependencies. */
export interface MachineContext {
  readonly number: number;
  readonly uuid: string;
  /** Main IPv4; null: the machine is unreachable. */
  readonly address: string | null;
  readonly prefix: number;
  readonly gateway: string;
  readonly sshPort: number;
  readonly hardware: ServerHardware;
  /** Serials of drives whose trimmed blocks can still be read. */
  readonly keepTrimmed: ReadonlySet<string>;
  /** Behaviours and faults of the mainboard. A test may change them at any time. */
  readonly board: { -readonly [Key in keyof BoardBehaviour]: BoardBehaviour[Key] };
  readonly delays: Delays;
  readonly clock: ScaledClock;
  /** Ends every wait when the simulator closes. */
  readonly signal: AbortSignal;
  readonly software: ServerSoftware;
  readonly runner: MachineRunner;
  readonly switchboard: CallInterceptor;
  readonly serialLog: string;
  readonly log: Log | undefined;
  readonly onWrite: (write: DiskWrite) => void;
  /** A network boot takes the armed configuration. */
  takeArmed(): BootActivation | undefined;
}

/** How a boot ends. */
export type PowerAction = 'reboot' | 'off';

/** The running system. */
export interface RunningSystem {
  /** Resolves when it ends by itself. */
  readonly ended: Promise<PowerAction>;
  /** Changes with each boot; undefined without a login. */
  readonly bootId?: string | undefined;
  /** Ctrl-Alt-Del, or the power button. The system may ignore it. */
  press(desired: PowerAction): void;
  /** Cuts the power: at once, and nothing remains when it resolves. */
  close(): Promise<void>;
}
