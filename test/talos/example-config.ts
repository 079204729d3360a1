import type { MachineConfigInput } from '../../src/talos/config/machine-config.ts';
import { createSecretsBundle, type SecretsBundle } from '../../src/talos/secrets/secrets-bundle.ts';

let bundle: Promise<SecretsBundle> | undefined;

/** One bundle for each test file. Its RSA key is short, because the generation of a long one takes seconds. */
export function exampleSecretsBundle(): Promise<SecretsBundle> {
  bundle ??= createSecretsBundle({ now: new Date(), serviceAccountKeyBits: 2048 });
  return bundle;
}

/** A control plane on TrueNAS, with changes for a test. */
export function exampleConfigInput(
  secrets: SecretsBundle,
  changes: Partial<MachineConfigInput> = {},
): MachineConfigInput {
  return {
    bundle: secrets,
    talosVersion: '1.13.9',
    kubernetesVersion: '1.35.4',
    clusterName: 'example',
    endpoint: 'https://192.168.10.20:6443',
    role: 'controlplane',
    hostname: 'example-cp-0',
    hardware: {
      installDisk: '/dev/vda',
      imagePlatform: 'nocloud',
      providerId: 'truenas://nas/example-cp-0',
      links: [{ mac: '00:a0:98:11:22:33', addresses: ['192.168.10.21/24'], gateway: '192.168.10.1' }],
    },
    installerImage: `factory.talos.dev/nocloud-installer/${'a'.repeat(64)}:v1.13.9`,
    network: {
      podSubnets: ['10.244.0.0/16'],
      serviceSubnets: ['10.96.0.0/12'],
      dnsDomain: 'cluster.local',
      nameServers: ['192.168.10.1'],
      timeServers: ['ntp.example.org'],
    },
    vip: '192.168.10.20',
    talosCertSANs: [],
    apiServerCertSANs: [],
    nodeLabels: {},
    nodeTaints: [],
    schedulableControlPlanes: false,
    discovery: { enabled: true },
    trust: [],
    issuerAuthorities: [],
    patches: [],
    ...changes,
  };
}
