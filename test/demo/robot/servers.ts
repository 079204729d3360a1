import { annotations } from '../../../src/api/names.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';
import { demoNetwork } from '../loopback.ts';
import { describeHostObject } from './robot-objects.ts';

const addressOf = (place: number): string => `${demoNetwork.servers}${place}`;
const gateway = demoNetwork.gateway;

/** A user's file server: a running Linux with data next to it. */
export const fileServer = { number: 3140015, disk: 'S64GNX0R401733', host: { name: 'rack-a-5' } } as const;
const idleServer = { number: 3140014 } as const;

/** Four servers for the provider, one of them with an old Linux, and one server that it must not use. */
export const demoServers = {
  servers: [
    ...[1, 2, 3].map((place) => ({
      ...{ number: 3140010 + place, address: addressOf(place), gateway },
      disks: [{ model: 'SAMSUNG MZVL2512' }, { model: 'SAMSUNG MZVL2512' }],
    })),
    {
      ...{ number: idleServer.number, name: 'old-shop', address: addressOf(4), gateway },
      disks: [{ content: { kind: 'linux', hostname: 'old-shop', answersSsh: true, hetznerBuild: true } }],
    },
    {
      ...{ number: fileServer.number, name: 'files', product: 'EX44', address: addressOf(5), gateway },
      disks: [
        { serial: fileServer.disk, content: { kind: 'linux', hostname: 'files', answersSsh: true } },
        { bus: 'sata', sizeBytes: 4_000_787_030_016, rotational: true, content: { kind: 'ceph' } },
      ],
    },
  ],
};

/** Their Hosts, as written by users who know the contents of the disks. */
export const demoHosts = (): KubeObject[] => [
  ...[1, 2, 3].map((place) =>
    describeHostObject(`rack-a-${place}`, {
      ...{ number: 3140010 + place, expect: { address: addressOf(place) }, roles: ['controlplane'] },
    }),
  ),
  describeHostObject('rack-a-4', {
    ...{
      number: idleServer.number,
      expect: { address: addressOf(4), name: 'old-shop' },
      roles: ['worker'],
      wipe: true,
    },
  }),
  describeHostObject(
    fileServer.host.name,
    {
      ...{ number: fileServer.number, expect: { address: addressOf(5), product: 'EX44' } },
      ...{ protectedDisks: [fileServer.disk], maintenance: true },
    },
    { [annotations.inspect]: '' },
  ),
];

/** One more worker, for the story of an upgrade. */
export const sixthServer = {
  seed: {
    ...{ number: 3140016, address: addressOf(6), gateway },
    disks: [{ model: 'SAMSUNG MZVL2512' }],
  },
  host: (): KubeObject =>
    describeHostObject('rack-a-6', {
      ...{ number: 3140016, expect: { address: addressOf(6) }, roles: ['worker'] },
    }),
} as const;
