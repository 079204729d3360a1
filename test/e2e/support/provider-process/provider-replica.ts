import type { Testbed } from '../testbed/testbed.ts';
import { type InProcessRunOptions, type ProviderRun, runAsChildProcess, runInProcess } from './provider-run.ts';
import { SimulatedNetwork } from './simulated-network.ts';
import { WallClock } from './wall-clock.ts';

export interface ReplicaOptions {
  /** `POD_NAME`: the prefix of the holder identity in the Lease. */
  readonly name: string;
  /** A loopback address, unique: servers see it as the source address. */
  readonly address: string;
}

/** `run` as a pod of the provider `talos`, with a kubelet that restarts it when it exits without a stop. */
export class ProviderReplica {
  readonly name: string;
  readonly address: string;
  readonly lines: string[] = [];
  /** The errors of the runs that ended without a stop. */
  readonly deaths: unknown[] = [];
  readonly #begin: (say: (line: string) => void) => ProviderRun;
  #life: ProviderRun | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor({ name, address }: ReplicaOptions, begin: (say: (line: string) => void) => ProviderRun) {
    this.name = name;
    this.address = address;
    this.#begin = begin;
  }

  start(): void {
    const life = this.#begin((line) => void this.lines.push(line));
    this.#life = life;
    this.#ended = life.ended.catch((error: unknown) => {
      this.deaths.push(error);
      if (this.#life === life) this.start();
    });
  }

  /** Ends it as SIGTERM does. */
  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    // A frozen process does not handle SIGTERM.
    if (life?.pid !== undefined) process.kill(life.pid, 'SIGCONT');
    life?.stop();
    await this.#ended;
  }

  async close(): Promise<void> {
    await this.stop();
  }

  /** Sends a signal to its process. */
  signal(name: NodeJS.Signals): void {
    if (this.#life?.pid === undefined) throw new Error(`${this.name} is no process of its own`);
    process.kill(this.#life.pid, name);
  }

  /** Its log lines about faults of its own. Failures of the simulators do not count. */
  faults(): string[] {
    return this.lines.filter((line) => /^\{"level":"(error|fatal)"/.test(line)).map((line) => line.slice(0, 600));
  }

  /** Its last relevant log lines, as a report. */
  tail(lines = 40): string {
    const told = this.lines.filter((line) => !line.includes('"level":"debug"')).slice(-lines);
    return `--- pod ${this.name} ---\n${told.join('')}`;
  }
}

interface InProcessReplicaOptions
  extends Pick<InProcessRunOptions, 'leaseSeconds' | 'watchClock' | 'hasteOfDeadlines'> {
  /** The clock of its machine; default: a correct clock. */
  readonly wallClock?: WallClock;
}

/** A pod in this process, with a network that can be cut. */
export class InProcessReplica extends ProviderReplica {
  readonly network: SimulatedNetwork;

  private constructor(
    options: ReplicaOptions,
    network: SimulatedNetwork,
    begin: (say: (line: string) => void) => ProviderRun,
  ) {
    super(options, begin);
    this.network = network;
  }

  static async open(testbed: Testbed, options: ReplicaOptions & InProcessReplicaOptions): Promise<InProcessReplica> {
    const network = await SimulatedNetwork.open(options.address);
    const { name: _, address: __, wallClock = new WallClock(), ...more } = options;
    const { clock } = testbed;
    return new InProcessReplica(options, network, (say) =>
      wallClock.within(() =>
        network.within(() => runInProcess({ ...runOptionsFor(testbed, options), ...more, clock, say })),
      ),
    );
  }

  override async close(): Promise<void> {
    await super.close();
    await this.network.close();
  }
}

/** A pod that is the built program, in a process of its own with accelerated time. */
export function createChildProcessReplica(
  testbed: Testbed,
  options: ReplicaOptions & { readonly speed: number },
): ProviderReplica {
  const { address, speed } = options;
  return new ProviderReplica(options, (say) =>
    runAsChildProcess({ ...runOptionsFor(testbed, options), address, speed, say }),
  );
}

function runOptionsFor({ kubeconfig, environment, namespace }: Testbed, { name }: ReplicaOptions) {
  return { environment, name: 'talos', kubeconfig, namespace, podName: name };
}
