import { createHash } from 'node:crypto';
import type { NodeLink } from '../../../engine/platform.ts';
import { buildIso } from '../../../lib/iso9660.ts';
import type { SecretString } from '../../../lib/secret-string.ts';

export interface SeedContent {
  readonly hostname: string;
  /** Unique to the machine; shown by Talos as the instance id. */
  readonly instanceId: string;
  readonly link: NodeLink;
  readonly machineConfig: SecretString;
}

export interface NoCloudSeed {
  /** Follows from the content, so that equal content is written once and a change never overwrites what is in use. */
  readonly fileName: string;
  readonly image: Buffer;
}

/** Talos 1.12.0 finds no label on a block device below 64 KiB, since its probing reads that much at least. */
const minSeedBytes = 128 * 1024;

/**
 * The `cidata` volume of cloud-init's NoCloud, from which Talos takes its complete machine configuration and, before it
 * has read that, its address, or that it is to ask for one (docs.siderolabs.com: nocloud). It holds the cluster's secrets.
 */
export function buildSeed({ hostname, instanceId, link, machineConfig }: SeedContent): NoCloudSeed {
  const image = buildIso({
    label: 'cidata',
    leastBytes: minSeedBytes,
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
 * What lies in the place of a seed once its node needs it no more: a disc all the same, since TrueNAS starts no machine
 * with a file gone. Of another label, so that nobody takes it for a configuration, and smaller than any seed.
 */
export const emptiedSeed: Buffer = buildIso({
  label: 'emptied',
  files: { 'readme.txt': Buffer.from('The configuration of this machine was here. It has joined its cluster.\n') },
});

// Quoted as JSON, which is YAML too: no value can break out.
const quote = (value: string) => JSON.stringify(value);

function metaData(hostname: string, instanceId: string): string {
  return `instance-id: ${quote(instanceId)}\nlocal-hostname: ${quote(hostname)}\n`;
}

/** Version 2, matched by MAC: device names are not ours to know. */
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
