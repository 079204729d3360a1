import type { NodeHardware, Schematic } from '../../src/engine/platform.ts';
import type { Secret } from '../../src/lib/secret.ts';
import { installerImage, schematicId } from '../../src/talos/image-factory.ts';
import { renderMachineConfig } from '../../src/talos/machine-config.ts';
import type { SecretsBundle } from '../../src/talos/secrets.ts';

/** The configuration of a control plane that stands alone, for where platforms are tried without the controllers. */
export function nodeConfig(options: {
  readonly bundle: SecretsBundle;
  readonly hostname: string;
  readonly address: string;
  readonly hardware: NodeHardware;
  readonly factoryUrl: string;
  readonly schematic: Schematic;
}): Secret {
  const { bundle, hostname, address, hardware, factoryUrl, schematic } = options;
  const image = { factoryUrl, platform: hardware.imagePlatform, version: '1.13.9' };
  return renderMachineConfig({
    ...{ bundle, hostname, hardware, talosVersion: '1.13.9', kubernetesVersion: '1.36.3', clusterName: 'shop' },
    ...{ endpoint: `https://${address}:6443`, role: 'controlplane' },
    installerImage: installerImage({ ...image, schematicId: schematicId(schematic) }),
    network: {
      ...{ podSubnets: ['10.244.0.0/16'], serviceSubnets: ['10.96.0.0/12'], dnsDomain: 'cluster.local' },
      ...{ nameServers: ['127.42.0.1'], timeServers: [] },
    },
    ...{ talosCertSANs: [], apiServerCertSANs: [], nodeLabels: {}, nodeTaints: [], schedulableControlPlanes: true },
    ...{ discovery: { enabled: true }, trust: [], issuerAuthorities: [], patches: [] },
  });
}
