import { createHash } from 'node:crypto';
import type { NodeLink } from '../../../engine/node.ts';
import { buildIso } from '../../../lib/iso9660.ts';
import type { SecretString } from '../../../lib/secret-string.ts';

export interface SeedContent {
  readonly hostname: string;
  /** Unique for each machine; Talos shows it as the instance id. */
  readonly instanceId: string;
  readonly link: NodeLink;
  readonly machineConfig: SecretString;
}

export interface NoCloudSeed {
  /** Follows from the content, so that equal content is written once and a file in use is never overwritten. */
  readonly fileName: string;
  readonly image: Buffer;
}

/** Talos 1.12.0 finds no label on a block device below 64 KiB, because its probing reads at least that much. */
const minSeedBytes = 128 * 1024;

/**
 * The `cidata` volume of cloud-init's NoCloud. Talos reads its complete machine configuration from it and, before that,
 * its address or that it uses DHCP (docs.siderolabs.com: nocloud). It contains the secrets of the cluster.
 */
export function buildSeed({ hostname, instanceId, link, machineConfig }: SeedContent): NoCloudSeed {
  const image = buildIso({
    label: 'cidata',
    minBytes: minSeedBytes,
    files: {
      'user-data': Buffer.from(machineConfig.reveal()),
      'meta-data': Buffer.from(metaData(hostname, instanceId)),
      'network-config': Buffer.from(networkConfig(link)),
    },
  });
  const digest = createHash('sha256').update(image).digest('hex').slice(0, 16);
  return { fileName: `seed-${digest}.iso`, image };
}

/**
 * Replaces a seed that its node does not need any more. It is still a disc image, because TrueNAS does not start a
 * machine with a missing file. Its label differs, so that it is no configuration, and it is smaller than any seed.
 */
export const emptiedSeed: Buffer = buildIso({
  label: 'emptied',
  files: { 'readme.txt': Buffer.from('The configuration of this machine was here. It has joined its cluster.\n') },
});

// JSON strings are YAML as well, so no value can break the document.
const quote = (value: string) => JSON.stringify(value);

function metaData(hostname: string, instanceId: string): string {
  return `instance-id: ${quote(instanceId)}\nlocal-hostname: ${quote(hostname)}\n`;
}

/** Network configuration version 2, matched by MAC, because device names are not known. */
function networkConfig({ mac, addresses, dhcp, gateway, mtu }: NodeLink): string {
  const lines = [
    'version: 2',
    'ethernets:',
    '  node:',
    '    match:',
    `      macaddress: ${quote(mac)}`,
    `    dhcp4: ${dhcp ? 'true' : 'false'}`,
    ...(addresses.length > 0 ? ['    addresses:', ...addresses.map((address) => `      - ${quote(address)}`)] : []),
  ];
  if (gateway !== undefined) lines.push(`    ${gateway.includes(':') ? 'gateway6' : 'gateway4'}: ${quote(gateway)}`);
  if (mtu !== undefined) lines.push(`    mtu: ${mtu}`);
  return `${lines.join('\n')}\n`;
}
