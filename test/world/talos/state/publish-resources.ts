import { diskFileBytes } from '../boot/disk-partitions.ts';
import { deviceName, wwidOf } from '../boot/installer.ts';
import type { NodeInterface } from '../network/links.ts';
import type { TalosNode } from '../node.ts';
import { formatSize } from './format-size.ts';
import { booleanField, bytesField, encodeMessage } from './protobuf.ts';
import { publishRootSecrets } from './publish-root-secrets.ts';
import { publishSystem } from './publish-system.ts';
import { publishVolumes } from './publish-volumes.ts';
import { putResourceDefinitions } from './resource-definitions.ts';

/** Publishes the resources that follow from the node's hardware, image, network and configuration. */
export function publishResources(node: TalosNode): void {
  putResourceDefinitions(node.resources);
  publishSystem(node);
  publishHardware(node);
  publishNetwork(node);
  publishConfig(node);
  publishRootSecrets(node);
  node.refreshStatus();
}

function publishHardware(node: TalosNode): void {
  const { resources, machine } = node;
  const names = machine.disks.map((disk) => deviceName(disk, machine.disks));
  machine.disks.forEach((disk, index) => {
    const name = names[index] ?? '';
    resources.put('runtime', 'Disks.block.talos.dev', name, {
      dev_path: `/dev/${name}`,
      size: disk.sizeBytes,
      pretty_size: formatSize(disk.sizeBytes),
      io_size: 512,
      sector_size: 512,
      readonly: false,
      cdrom: false,
      model: disk.model ?? (disk.bus === 'virtio' ? '' : 'QEMU HARDDISK'),
      serial: disk.serial,
      ...(disk.wwn ? { wwid: wwidOf(disk) } : {}),
      bus_path: `/pci0000:00/0000:00:0${index + 4}.0/`,
      sub_system: '/sys/class/block',
      transport: disk.bus,
      rotational: disk.rotational ?? disk.bus === 'sata',
    });
  });
  machine.cdroms.forEach((disc, index) => {
    resources.put('runtime', 'Disks.block.talos.dev', `sr${index}`, {
      dev_path: `/dev/sr${index}`,
      size: diskFileBytes(disc.path),
      pretty_size: formatSize(diskFileBytes(disc.path)),
      readonly: true,
      cdrom: true,
      model: 'QEMU DVD-ROM',
      transport: 'sata',
    });
  });
  publishSystemDisk(node);
}

/** `SystemDisks` exists exactly when META was found. */
export function publishSystemDisk(node: TalosNode): void {
  const path = node.systemDisk;
  const disk = node.machine.disks.find((one) => one.path === path);
  if (!path || !disk) {
    node.resources.remove('runtime', 'SystemDisks.block.talos.dev', 'system-disk');
    return;
  }
  const name = deviceName(disk, node.machine.disks);
  node.resources.put('runtime', 'SystemDisks.block.talos.dev', 'system-disk', {
    diskID: name,
    devPath: `/dev/${name}`,
  });
  publishVolumes(node, disk);
}

function publishNetwork(node: TalosNode): void {
  const { resources, links } = node;
  resources.put('network', 'LinkStatuses.net.talos.dev', 'lo', {
    index: 1,
    type: 'loopback',
    hardwareAddr: '00:00:00:00:00:00',
    mtu: 65536,
    operationalState: 'unknown',
    linkState: true,
    kind: '',
  });
  putAddress(node, 'lo', 1, '127.0.0.1/8', 'host');
  for (const link of links) {
    resources.put('network', 'LinkStatuses.net.talos.dev', link.name, {
      index: link.index + 2,
      type: 'ether',
      hardwareAddr: link.mac,
      mtu: link.mtu,
      operationalState: 'up',
      linkState: true,
      ...linkKindOf(link),
      alias: '',
    });
    for (const address of link.addresses) putAddress(node, link.name, link.index + 2, address, 'global');
  }
}

/** A VLAN has the MAC of its NIC and no hardware. */
const linkKindOf = ({ mac, index, vlan }: NodeInterface) =>
  vlan === undefined
    ? { kind: '', permanentAddr: mac, driver: 'virtio_net', busPath: `0000:00:0${index + 2}.0` }
    : { kind: 'vlan', vlan: { vlanID: vlan, vlanProtocol: '802.1q' } };

const addressType = 'AddressStatuses.net.talos.dev';

function putAddress(node: TalosNode, linkName: string, linkIndex: number, address: string, scope: string): void {
  const spec = { address, linkName, linkIndex, family: address.includes(':') ? 'inet6' : 'inet4', scope };
  node.resources.put('network', addressType, `${linkName}/${address}`, spec);
}

/**
 * The virtual IP is on the first link of its holder, or on its private network. The configuration of a node that no
 * longer holds it may no longer contain it.
 */
export function publishSharedAddress({ resources, links, config }: TalosNode, ip: string, isHeld: boolean): void {
  const address = `${ip}/${ip.includes(':') ? 128 : 32}`;
  const idOn = (link: NodeInterface): string => `${link.name}/${address}`;
  if (!isHeld) {
    for (const link of links) resources.remove('network', addressType, idOn(link));
    return;
  }
  const link = links.find(({ vlan }) => vlan === config?.view.vipVlan);
  if (!link) return;
  const { name: linkName, index } = link;
  const family = ip.includes(':') ? 'inet6' : 'inet4';
  resources.put('network', addressType, idOn(link), {
    address,
    linkName,
    linkIndex: index + 2,
    family,
    scope: 'global',
  });
}

/** Says that the spec is the document as a text. Without it, `talosctl patch` and `edit` read the spec as the document. */
const asText = { annotations: { 'talos.dev/yaml-spec': '1' } };

function publishConfig(node: TalosNode): void {
  const { resources, config } = node;
  if (!config) return;
  const { view } = config;
  const persisted = node.persisted ?? config.source.text;
  for (const [id, text] of [
    ['v1alpha1', config.source.text],
    ['persistent', persisted],
  ] as const) {
    resources.put('config', 'MachineConfigs.config.talos.dev', id, text, { ...asText, proto: bytesField(1, text) });
  }
  const { skipRegistration } = view.kubernetes.kubelet;
  const nodename = { nodename: node.nodename, hostnameVersion: '1', skipNodeRegistration: skipRegistration };
  resources.put('k8s', 'Nodenames.kubernetes.talos.dev', 'nodename', nodename, {
    proto: encodeMessage(bytesField(1, node.nodename), bytesField(2, '1'), booleanField(3, skipRegistration)),
  });
}
