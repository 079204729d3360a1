import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { eventually } from '../../../support/eventually.ts';
import { FencingMonitor } from '../observation/fencing-monitor.ts';
import type { ProviderReplica } from '../provider-process/provider-replica.ts';
import { Testbed, type TestbedOptions } from './testbed.ts';

/** A testbed on which pods run the provider: each process can be killed, frozen or cut off alone. */
export class ReplicaTestbed<P extends ProviderReplica = ProviderReplica> {
  readonly testbed: Testbed;
  readonly pods: readonly P[];
  /** Monitors the leader, and actions without the Lease. It has no data at a real platform cluster. */
  readonly fencing: FencingMonitor<P>;

  private constructor(testbed: Testbed, pods: readonly P[]) {
    this.testbed = testbed;
    this.pods = pods;
    this.fencing = new FencingMonitor(testbed, pods);
  }

  static async open<P extends ProviderReplica>(
    options: TestbedOptions,
    make: (testbed: Testbed) => Promise<readonly P[]>,
  ) {
    const testbed = await Testbed.open(options);
    const fixture = new ReplicaTestbed(testbed, await make(testbed));
    // One after the other: the creator of the Lease has to appear before it holds the Lease.
    for (const pod of fixture.pods) {
      pod.start();
      if (testbed.world.platform) await eventually('somebody leads', () => fixture.fencing.leader);
    }
    return fixture;
  }

  /** The only pod. */
  get pod(): P {
    const [pod] = this.pods;
    if (!pod || this.pods.length > 1) throw new Error(`there are ${this.pods.length} pods`);
    return pod;
  }

  otherThan(pod: P): P {
    return this.pods.find((one) => one !== pod) ?? pod;
  }

  async isReady(ref: NamespacedRef): Promise<boolean> {
    return (await this.testbed.objects.getCluster(ref)).status?.phase === 'Ready';
  }

  async isGranted(ref: NamespacedRef): Promise<boolean> {
    return (await this.testbed.objects.getRequest(ref)).status?.phase === 'Granted';
  }

  tail(): string {
    return this.pods.map((pod) => pod.tail()).join('') + this.testbed.tail();
  }

  async close(): Promise<void> {
    this.fencing.close();
    for (const pod of this.pods) await pod.close();
    await this.testbed.close();
  }
}

/** One testbed for all tests of a file, with the pods running. A failed test prints the ends of their logs. */
export function startReplicaTestbed<P extends ProviderReplica>(
  options: TestbedOptions,
  make: (testbed: Testbed) => Promise<readonly P[]>,
): () => ReplicaTestbed<P> {
  let fixture: ReplicaTestbed<P> | undefined;
  beforeAll(async () => {
    fixture = await ReplicaTestbed.open(options, make);
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      process.stderr.write(fixture?.tail() ?? '');
    });
  });
  afterAll(async () => await fixture?.close());
  return () => {
    if (!fixture) throw new Error('the scene did not open');
    return fixture;
  };
}
