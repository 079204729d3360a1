import { type Life, liveHere } from './lives.ts';
import { Network } from './network.ts';
import type { Stage } from './stage.ts';

export interface PodOptions {
  /** `POD_NAME`: who holds the Lease begins with it. */
  readonly name: string;
  /** Loopback, and nobody else's. */
  readonly address: string;
  /** All pods of one provider have to agree. */
  readonly leaseSeconds?: number;
  readonly hasteOfDeadlines?: number;
}

/** `run` as a pod of the provider `talos`, with a network of its own, and a kubelet that starts it again when it ends. */
export class Pod {
  readonly name: string;
  readonly network: Network;
  readonly lines: string[] = [];
  /** What ended the lives that ended by themselves. */
  readonly deaths: unknown[] = [];
  readonly #begin: () => Life;
  #life: Life | undefined;
  #ended: Promise<void> = Promise.resolve();

  private constructor(stage: Stage, network: Network, { name, leaseSeconds, hasteOfDeadlines = 1 }: PodOptions) {
    this.name = name;
    this.network = network;
    const { kubeconfig, environment, namespace, clock } = stage;
    this.#begin = () =>
      network.within(() =>
        liveHere({
          environment,
          name: 'talos',
          kubeconfig,
          namespace,
          clock,
          podName: name,
          hasteOfDeadlines,
          ...(leaseSeconds ? { leaseSeconds } : {}),
          say: (line) => void this.lines.push(line),
        }),
      );
  }

  static async open(stage: Stage, options: PodOptions): Promise<Pod> {
    return new Pod(stage, await Network.open(options.address), options);
  }

  start(): void {
    const life = this.#begin();
    this.#life = life;
    this.#ended = life.ended.catch((error: unknown) => {
      this.deaths.push(error);
      if (this.#life === life) this.start();
    });
  }

  /** Its last lines that tell something, for people. */
  tail(lines = 40): string {
    const told = this.lines.filter((line) => !line.includes('"level":"debug"')).slice(-lines);
    return `--- pod ${this.name} ---\n${told.join('')}`;
  }

  /** Ends it as SIGTERM does. */
  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    life?.stop();
    await this.#ended;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.network.close();
  }
}
