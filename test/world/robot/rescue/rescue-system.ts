import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { ScaledClock } from '../../scaled-clock.ts';
import type { ServerHardware } from '../hardware.ts';
import type { BlockStorage } from './devices/block-storage.ts';
import { type DirectoryNode, newDirectory } from './files/file-nodes.ts';
import { FileSystem } from './files/file-system.ts';
import { Errno, Killed } from './io/errno.ts';
import { Descriptor } from './io/open-file.ts';
import type { RescueProcess, RescueProgram } from './process.ts';
import type { State } from './shell/state.ts';
import { UsageError } from './tools/arguments.ts';

/** The DHCP address of a server. */
export interface SystemNetwork {
  readonly address: string;
  readonly prefix: number;
  readonly gateway: string;
}

export interface RescueSystemOptions {
  readonly hostname: string;
  /** Kernel name of the device of `/`; undefined: it is in RAM. */
  readonly rootDevice?: string | undefined;
  readonly hardware: ServerHardware;
  readonly storage: BlockStorage;
  readonly network: SystemNetwork;
  readonly clock: ScaledClock;
  readonly memoryMiB: number;
  readonly ramDiskMiB: number;
  readonly udevSeconds: number;
  readonly programs: ReadonlyMap<string, RescueProgram>;
  onPower(kind: 'reboot' | 'off'): void;
}

const binaries = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** One boot of a Linux: the environment of its programs. No program ever runs on the host. */
export class RescueSystem {
  readonly bootId = randomUUID();
  readonly hostname: string;
  readonly rootDevice: string | undefined;
  readonly hardware: ServerHardware;
  readonly storage: BlockStorage;
  readonly network: SystemNetwork;
  readonly clock: ScaledClock;
  readonly memoryMiB: number;
  readonly files: FileSystem;
  /** Variables of the firmware can be written. They are mounted read-only at first. */
  efiVariablesWritable = false;
  /** Manual mounts, by path. */
  readonly mounts = new Map<string, { readonly device: string; readonly type: string }>();
  isGoingDown = false;
  readonly #onPower: (kind: 'reboot' | 'off') => void;
  /** Aborts when the system ends. */
  readonly signal: AbortSignal;
  readonly #life = new AbortController();
  readonly #programs: ReadonlyMap<string, RescueProgram>;
  readonly #bootedAt = Date.now();
  readonly #settled: Promise<void>;
  #isSettled = false;
  #lastProcess = 1000;

  constructor(options: RescueSystemOptions, root: (system: RescueSystem) => DirectoryNode) {
    this.hostname = options.hostname;
    this.rootDevice = options.rootDevice;
    this.hardware = options.hardware;
    this.storage = options.storage;
    this.network = options.network;
    this.clock = options.clock;
    this.memoryMiB = options.memoryMiB;
    this.#onPower = options.onPower;
    this.#programs = options.programs;
    this.signal = this.#life.signal;
    setMaxListeners(0, this.signal);
    this.files = new FileSystem(newDirectory(), options.ramDiskMiB * 2 ** 20);
    for (const [name, node] of root(this).list()) this.files.root.names?.set(name, node);
    this.#settled = this.#settle(options.udevSeconds);
  }

  /** Time since the boot in real time, as on the clocks of clients that log in: dates are not scaled. */
  get uptimeSeconds(): number {
    return (Date.now() - this.#bootedAt) / 1000;
  }

  /** The WWNs of drives are known, and their links exist. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  awaitSettled(): Promise<void> {
    return this.#settled;
  }

  nextProcessId(): number {
    this.#lastProcess += 1;
    return this.#lastProcess;
  }

  /** `/dev/null`, opened. */
  nothing(): Descriptor {
    return new Descriptor({ read: async () => Buffer.alloc(0), write: async () => {} });
  }

  /** Path of the program with this name. */
  findProgram(name: string): string | undefined {
    return this.#programs.has(name) ? `/usr/bin/${name}` : undefined;
  }

  /** Runs a program for a shell, with an error message when it cannot run. */
  async run(process: RescueProcess, state: State): Promise<number> {
    const name = process.args[0] ?? '';
    const found = this.lookUp(name, process.cwd);
    if (!(found instanceof Errno)) return await this.execute(process, found);
    const isMissing = found.code === 'ENOENT';
    await process.error(`${state.prefix}${name}: ${isMissing ? 'not found' : found.message}\n`);
    return isMissing ? 127 : 126;
  }

  /** The program with this name, or why it cannot run. */
  lookUp(name: string, cwd: string): RescueProgram | Errno {
    const base = name.split('/').pop() ?? '';
    const place = name.slice(0, -base.length - 1);
    const program = name.includes('/') && !binaries.includes(place) ? undefined : this.#programs.get(base);
    if (program) return program;
    // Files are never programs here.
    return new Errno(name.includes('/') && this.files.exists(name, cwd) ? 'EACCES' : 'ENOENT');
  }

  /** Runs a program to its exit status. An unhandled kernel error is printed in one line. */
  async execute(process: RescueProcess, program: RescueProgram): Promise<number> {
    try {
      return await program(process);
    } catch (error) {
      if (error instanceof Killed) return 128 + error.signal;
      this.signal.throwIfAborted();
      if (error instanceof UsageError) return await process.fail(`${error.message} is not simulated`, 2);
      if (!(error instanceof Errno)) throw error;
      return await process.fail(error.message).catch((again: unknown) => {
        if (again instanceof Killed) return 128 + again.signal;
        throw again;
      });
    }
  }

  /** `reboot` or `poweroff`: the calling program does not see its end. */
  goDown(kind: 'reboot' | 'off'): void {
    if (this.isGoingDown) return;
    this.isGoingDown = true;
    this.#onPower(kind);
  }

  /** Cuts the power: everything that runs ends at once. */
  end(): void {
    this.#life.abort(new PowerCut('the power is gone'));
  }

  async #settle(seconds: number): Promise<void> {
    if (seconds > 0) await this.clock.sleep(seconds, this.signal).catch(() => undefined);
    this.#isSettled = true;
  }
}

/** Why everything stops at once. */
export class PowerCut extends Error {}
