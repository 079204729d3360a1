import { setTimeout as pause } from 'node:timers/promises';
import { KubeError } from '../../../../src/kube/errors.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';

type KubeRequest = Parameters<Transport['request']>[0];

/** Longer than a restart of the API server takes. */
const patienceMs = 60_000;

/** As a user who repeats a command that the API server has not answered. */
export class PersistentTransport extends Transport {
  override async request<T>(request: KubeRequest): Promise<T> {
    const end = performance.now() + patienceMs;
    for (;;) {
      try {
        return await super.request<T>(request);
      } catch (error) {
        if (!(error instanceof KubeError && error.reason === 'Unreachable') || performance.now() > end) throw error;
        await pause(200);
      }
    }
  }
}
