import { Secret } from '../../src/lib/secret.ts';
import { buildSeed } from '../../src/platforms/truenas/seed.ts';

/** Sizes of machine configurations: the shortest that could be one, and the longest that Talos takes. */
export const seedSizes = [100, 512 * 1024] as const;

/** The product's seed with a machine configuration of so many bytes, for a node at `192.0.2.21/24`. */
export function machineSeed(bytes: number) {
  const mac = '02:ca:fe:00:00:01';
  const machineConfig = documentOf(bytes);
  const { image, fileName } = buildSeed({
    hostname: 'shop-cp-0',
    instanceId: '23cc2129-a257-8644-95e0-289d55c69704',
    link: { mac, addresses: ['192.0.2.21/24'], gateway: '192.0.2.1' },
    machineConfig: new Secret(machineConfig),
  });
  return { image, fileName, mac, machineConfig };
}

/** No two lines are the same, so that a sector in the wrong place is seen. */
function documentOf(bytes: number): string {
  let text = 'version: v1alpha1\n';
  for (let line = 0; text.length < bytes; line += 1) text += `# line ${line} of a machine configuration\n`;
  return text.slice(0, bytes);
}
