import { readPartition } from '../boot/disk-partitions.ts';
import type { TalosNode } from '../node.ts';

/** The system that runs: version, schematic and extensions of its image, its command line. */
export function publishSystem(node: TalosNode): void {
  const { resources, image } = node;
  resources.put('runtime', 'Versions.runtime.talos.dev', 'version', { name: 'Talos', version: `v${image.version}` });
  const cmdline = { cmdline: image.kernelArguments.join(' ') };
  resources.put('runtime', 'KernelCmdlines.runtime.talos.dev', 'cmdline', cmdline);
  // The factory adds the id of the schematic as the last extension (image-factory: internal/schematic).
  const layers = [
    ...image.extensions.map((name) => ({ name: name.replace(/^.*\//, ''), version: '1.0.0', layer: name })),
    { name: 'schematic', version: image.schematic, layer: 'schematic' },
  ];
  layers.forEach(({ name, version, layer }, index) => {
    const spec = {
      image: `${layer.replaceAll('/', '-')}.sqsh`,
      metadata: { name, version, author: '', description: '' },
    };
    resources.put('runtime', 'ExtensionStatuses.runtime.talos.dev', String(index), spec);
  });
  publishMeta(node);
}

/** The keys of META. */
export function publishMeta(node: TalosNode): void {
  const disk = node.systemDisk;
  const tags = (disk ? readPartition(disk, 'META')?.tags : undefined) ?? {};
  const type = 'MetaKeys.runtime.talos.dev';
  for (const [key, value] of Object.entries(tags)) node.resources.put('runtime', type, key, { value });
  node.resources.keepOnly('runtime', type, Object.keys(tags));
}
