import { closeSync, openSync, readSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { CallInterceptor } from '../faults/call-interceptor.ts';
import type { MachineDescription, MachineRunner } from '../machine-runner/machine.ts';
import { ScaledClock } from '../scaled-clock.ts';
import type { BootableSystem, DiskContent } from './disks/bootable-system.ts';
import type { ServerDisk } from './hardware.ts';
import { type RobotSimulator, startRobotSimulator } from './index.ts';
import type { ServerSoftware } from './machine/software.ts';
import type { RescueOptions } from './rescue/start-rescue.ts';
import type { RobotSeed } from './setup/seed.ts';

/** A clock that stands still until a test advances it. */
export class SteppedScaledClock extends ScaledClock {
  #now = Date.parse('2031-01-01T00:00:00Z');
  readonly #sleepers = new Set<{ readonly at: number; wake(): void }>();

  override now(): Date {
    return new Date(this.#now);
  }

  override sleep(seconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const sleeper = { at: this.#now + seconds * 1000, wake: resolve };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', () => {
        if (this.#sleepers.delete(sleeper)) reject(signal.reason);
      });
    });
  }

  /** Advances the time: sleepers wake in order, and each one runs before the next one wakes. */
  async pass(seconds: number): Promise<void> {
    const end = this.#now + seconds * 1000;
    for (;;) {
      for (let i = 0; i < 20; i += 1) await turn();
      const next = [...this.#sleepers].sort((a, b) => a.at - b.at).find(({ at }) => at <= end);
      if (!next) break;
      this.#now = Math.max(this.#now, next.at);
      this.#sleepers.delete(next);
      next.wake();
    }
    this.#now = end;
  }
}

/** Stub systems: a disk holds its content as JSON in its first bytes. */
export class RecordedSoftware implements ServerSoftware {
  /** The running systems, by address. */
  readonly running = new Map<string, RecordedSystem>();
  /** The next system fails to start with this error. */
  failure: string | undefined;
  #boots = 0;

  startRescue: ServerSoftware['startRescue'] = async (options) =>
    this.#run({ kind: 'rescue', keys: options.authorizedKeys, password: options.rootPassword }, options);

  startForeignLinux: ServerSoftware['startForeignLinux'] = async (options) =>
    this.#run(
      { kind: options.hostname, keys: options.authorizedKeys, password: null, root: options.rootDevice },
      options,
    );

  fill(disk: ServerDisk, content: DiskContent): void {
    writeFileSync(disk.path, JSON.stringify(content));
    truncateSync(disk.path, disk.sizeBytes);
  }

  bootable(disk: ServerDisk): BootableSystem | undefined {
    const content = readRecordedContent(disk.path);
    if (content?.kind === 'talos') return { kind: 'talos' };
    if (content?.kind !== 'linux') return undefined;
    const { hostname, authorizedKeys = [], answersSsh = true, hetznerBuild = false } = content;
    return { kind: 'linux', hostname, authorizedKeys: [...authorizedKeys], answersSsh, hetznerBuild };
  }

  #run(facts: RecordedBoot, { address, onPower, udevSeconds, hardware }: Omit<RescueOptions, 'rootPassword'>) {
    if (this.failure !== undefined) throw new Error(this.failure);
    if (this.running.has(address)) throw new Error(`EADDRINUSE ${address}`);
    const names = hardware.disks.map(({ name }) => name);
    const system: RecordedSystem = { ...facts, power: onPower, udevSeconds, names };
    this.running.set(address, system);
    this.#boots += 1;
    return {
      bootId: `boot-${this.#boots}`,
      hostKey: `SHA256:${this.#boots}`,
      port: 22,
      cut: () => {},
      close: async () => {
        this.running.delete(address);
      },
    };
  }
}

interface RecordedBoot {
  readonly kind: string;
  readonly keys: readonly string[];
  readonly password: string | null;
  readonly root?: string;
}

interface RecordedSystem extends RecordedBoot {
  readonly udevSeconds: number | undefined;
  /** Names of disks at the boot. */
  readonly names: readonly string[];
  power(kind: 'reboot' | 'off'): void;
}

/** The content of a disk by its first bytes. */
export function readRecordedContent(path: string): DiskContent | undefined {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(1024);
    readSync(file, buffer, 0, buffer.length, 0);
    const text = buffer.toString('utf8').replace(/\0[\s\S]*$/, '');
    return text === '' ? undefined : (JSON.parse(text) as DiskContent);
  } finally {
    closeSync(file);
  }
}

/** A Talos stub that runs until it is stopped. */
export class RecordedRunner implements MachineRunner {
  readonly started: (MachineDescription & { end(how: 'reboot' | 'off'): void; scribble(): void })[] = [];

  start(machine: MachineDescription) {
    let rebooted = false;
    let off = (): void => {};
    const exited = new Promise<void>((resolve) => {
      off = resolve;
    });
    const end = (how: 'reboot' | 'off'): void => {
      rebooted = how === 'reboot';
      off();
    };
    const scribble = (): void => {
      const file = openSync(machine.disks[0]?.path ?? '', 'r+');
      writeSync(file, 'x', 4096);
      closeSync(file);
    };
    this.started.push({ ...machine, end, scribble });
    return {
      exited,
      stuck: undefined,
      get rebooted() {
        return rebooted;
      },
      kill: off,
      pressPowerButton: () => end('off'),
    };
  }
}

/** A raw answer. */
export interface WebserviceReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  readonly body: any;
}

export interface WebserviceRequestOptions {
  /** The unparsed body. */
  readonly form?: string;
  readonly type?: string;
  /** `user:password`; null: none. */
  readonly login?: string | null;
  /** The caller's own address. */
  readonly from?: string;
}

export interface RobotFixture {
  readonly simulator: RobotSimulator;
  readonly clock: SteppedScaledClock;
  readonly switchboard: CallInterceptor;
  readonly software: RecordedSoftware;
  readonly runner: RecordedRunner;
  /** A call like `POST /reset/3140011`; throws only without an answer. */
  ask(call: string, options?: WebserviceRequestOptions): Promise<WebserviceReply>;
  close(): Promise<void>;
}

/** A simulator with a stopped clock and stub systems, and a client for tests. */
export async function startRobotFixture(seed: RobotSeedInput = {}): Promise<RobotFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'world-robot-'));
  const [clock, switchboard, software, runner] = [
    new SteppedScaledClock(),
    new CallInterceptor(),
    new RecordedSoftware(),
    new RecordedRunner(),
  ];
  const place = { host: '127.0.0.1', port: 0, folder, clock, switchboard, runner, extra: { 'ssh-port': '22' } };
  const simulator = await startRobotSimulator({ ...place, seed }, software).catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true });
    throw error;
  });
  const agents = new Map<string, Agent>();
  const agentOf = (from: string): Agent => {
    const agent = agents.get(from) ?? new Agent({ connect: { ca: simulator.ca }, localAddress: from });
    agents.set(from, agent);
    return agent;
  };
  const { user, password } = simulator.line.credentials;
  return {
    ...{ simulator, clock, switchboard, software, runner },
    ask: async (call, { form, type, login = `${user}:${password}`, from = '127.0.0.1' } = {}) => {
      const [method = '', path = ''] = call.split(' ');
      const headers = {
        ...(login !== null && { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
        ...(form !== undefined && { 'content-type': type ?? 'application/x-www-form-urlencoded' }),
      };
      const options = {
        method: method as 'GET',
        headers,
        dispatcher: agentOf(from),
        ...(form !== undefined && { body: form }),
      };
      const answer = await request(`${simulator.line.url}${path}`, options);
      const text = await answer.body.text();
      const isJson = String(answer.headers['content-type']).includes('json');
      return {
        status: answer.statusCode,
        headers: answer.headers,
        text,
        body: isJson && text !== '' ? JSON.parse(text) : undefined,
      };
    },
    close: async () => {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
      await simulator.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A seed in its written form. */
export type RobotSeedInput = Readonly<Record<string, unknown>> & {
  readonly servers?: RobotSeed['servers'] | readonly object[];
};

/** A fixture per call, all closed by `closeAll`. */
export function useRobotFixtures(): { enter(seed?: RobotSeedInput): Promise<RobotFixture>; closeAll(): Promise<void> } {
  const open: RobotFixture[] = [];
  return {
    enter: async (seed) => {
      const one = await startRobotFixture(seed);
      open.push(one);
      return one;
    },
    closeAll: async () => {
      for (const one of open.splice(0)) await one.close();
    },
  };
}

/** Error code of an answer, with its status. */
export const statusAndCodeOf = ({ status, body }: WebserviceReply): string => `${status} ${body?.error?.code}`;
