import type { MaintenanceClient } from '../../engine/talos-clients.ts';
import { ProviderError } from '../../lib/errors.ts';
import { openInsecureClient, type TalosClientOptions } from './client.ts';
import type { TalosCallOptions } from './connection.ts';
import { identifyPeer } from './peer-identity.ts';
import { resourceKinds, type TalosResource } from './resources.ts';

/**
 * Opens the view that platforms have of a machine without a configuration. It only reads resources: up to Talos 1.12
 * maintenance mode serves no other call, not even the version.
 */
export function openMaintenanceClient(
  options: TalosClientOptions &
    TalosCallOptions & { /** Authority of the Talos API of the machine's cluster. */ readonly ca: string },
): MaintenanceClient {
  const { address, signal } = options;
  const node = openInsecureClient(options);
  return {
    stage: async () => {
      try {
        return (await node.machineStatus({ signal })).stage;
      } catch (error) {
        if (!(error instanceof ProviderError) || error.code !== 'TALOS_UNREACHABLE') throw error;
        const peer = await identifyPeer(address, options);
        if (peer === 'ours') return 'configured';
        if (peer !== 'foreign') throw error;
        const detail = `${address} already has a configuration of another cluster.`;
        throw new ProviderError('TALOS_FOREIGN_NODE', detail, { cause: error });
      }
    },
    macs: async () => (await node.listResources(resourceKinds.link, { signal })).flatMap(readMac),
    apply: async (config) => {
      await node.applyConfiguration(config, 'auto', { signal });
    },
    close: () => node.close(),
  };
}

/** The MAC of a network card. A link with a kind is built on other links and has the address of one of them. */
function readMac({ spec }: TalosResource): string[] {
  const { type, kind, permanentAddr, hardwareAddr } = (spec ?? {}) as Record<string, unknown>;
  if (type !== 'ether' || (kind !== undefined && kind !== '')) return [];
  const mac = [permanentAddr, hardwareAddr].find((one) => typeof one === 'string' && one !== '');
  return mac === undefined ? [] : [String(mac).toLowerCase()];
}
