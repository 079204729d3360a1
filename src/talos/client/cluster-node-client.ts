import type { ClusterNodeClient } from '../../engine/talos-clients.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from './client.ts';

/**
 * The view that platforms have of a machine that may be a node of its cluster. When `open` throws, the node counts as
 * not answering.
 */
export function createClusterNodeClient(open: () => TalosClient, signal: AbortSignal): ClusterNodeClient {
  const ask = async <T>(work: (client: TalosClient) => Promise<T>): Promise<T> => {
    const client = open();
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  };
  return {
    answers: async () => {
      try {
        await ask((client) => client.version({ signal }));
        return true;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ProviderError) return false;
        throw error;
      }
    },
    restart: () => ask((client) => client.reboot('firmware', { signal })),
  };
}
