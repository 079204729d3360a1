import { z } from 'zod';
import {
  caBundleSchema,
  celValidations,
  credentialsRefSchema,
  sizeNameSchema,
  sizesSchema,
} from '../../engine/config-schemas.ts';
import type { SpecRule } from '../../engine/platform.ts';
import { defaultRobotUrl } from './api/connect.ts';

const webserviceUrl = z
  .string()
  .max(300)
  .regex(/^https:\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?\/?$/, {
    message: 'must be https:// with a host name and an optional port',
  })
  .default(defaultRobotUrl)
  .describe('URL of the Robot webservice (https). Default: the webservice of Hetzner.');

const LabelExpression = z.strictObject({
  key: z.string().min(1).max(316).describe('Key of the label.'),
  operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('Operator: In, NotIn, Exists or DoesNotExist.'),
  values: z.array(z.string().max(63)).max(50).default([]).describe('Values for In and NotIn. Default: none.'),
});

const HostSelector = z
  .strictObject({
    matchLabels: z
      .record(z.string().max(316), z.string().max(63))
      .default({})
      .describe('Labels that a Host must have. Default: none.'),
    matchExpressions: z
      .array(LabelExpression)
      .max(20)
      .default([])
      .describe('Further label requirements. Default: none.'),
  })
  .describe('Label selector for the Hosts of this size. An empty selector matches all Hosts.');
export type HostSelector = z.infer<typeof HostSelector>;

const RobotSize = z.strictObject({
  name: sizeNameSchema,
  hostSelector: HostSelector,
});
export type RobotSize = z.infer<typeof RobotSize>;

const VSwitchConfig = z
  .strictObject({
    name: z.string().min(1).max(64).describe('Name of the vSwitch. It is created if no vSwitch has this VLAN.'),
    vlan: z.int().min(4000).max(4091).describe('VLAN tag, from 4000 to 4091.'),
    mtu: z.int().min(1280).max(1500).default(1400).describe('MTU, in bytes. Default: 1400.'),
  })
  .describe(
    'Private network of the nodes on a vSwitch, with addresses of network.addressPool. Nodes communicate over it.',
  );

/** The section `spec.hetznerRobot` of a ProviderConfig. */
export const RobotConfig = z
  .strictObject({
    url: webserviceUrl,
    credentialsRef: credentialsRefSchema(
      'Secret in the namespace of the provider, with the keys username and password (of the webservice user, not of the Robot web interface) and sshPrivateKey (OpenSSH format, without a passphrase).',
    ),
    caBundle: caBundleSchema('the webservice'),
    sshPort: z.int().min(1).max(65535).default(22).describe('SSH port of the rescue system. Default: 22.'),
    image: z
      .strictObject({
        compression: z
          .enum(['zst', 'xz'])
          .default('zst')
          .describe('Compression format of the disk image of the image factory. Default: zst.'),
        sha256: z
          .string()
          .max(64)
          .regex(/^[0-9a-f]{64}$/)
          .optional()
          .describe(
            'SHA-256 of the compressed image, for one Talos version and schematic. Default: the checksum of the image factory, if available.',
          ),
      })
      .prefault({})
      .describe('Disk image of Talos.'),
    vswitch: VSwitchConfig.optional(),
    endpoint: z
      .enum(['first-node', 'virtual-address', 'failover'])
      .optional()
      .describe(
        'Endpoint of the API server, unless controlPlane.endpoint is set. first-node: the address of the first control plane. virtual-address: an address of network.addressPool inside the vSwitch. failover: the failover address. Default: virtual-address with a vSwitch, failover with a failoverAddress, otherwise first-node.',
      ),
    failoverAddress: z
      .string()
      .regex(/^[0-9a-f.:]+$/)
      .max(45)
      .optional()
      .describe('Failover IP address of the account. It is routed to a healthy control plane.'),
    sizes: sizesSchema(RobotSize, 'Sizes of machines. Each selects Hosts.'),
  })
  .meta(
    celValidations(
      [
        "!has(self.endpoint) || self.endpoint != 'virtual-address' || has(self.vswitch)",
        'hetznerRobot.endpoint: a virtual address needs hetznerRobot.vswitch: it cannot move between servers on the public network',
      ],
      [
        "(has(self.endpoint) && self.endpoint == 'failover') == has(self.failoverAddress) || !has(self.endpoint)",
        'hetznerRobot.failoverAddress: it is required with the endpoint failover, and only allowed with it',
      ],
    ),
  )
  .describe('Nodes on servers of Hetzner Robot, each described by a Host.');
export type RobotConfig = z.infer<typeof RobotConfig>;

/** How the API server is reached: by `endpoint`, or by a default that depends on the other fields. */
export function endpointModeOf({
  endpoint,
  vswitch,
  failoverAddress,
}: RobotConfig): NonNullable<RobotConfig['endpoint']> {
  if (endpoint) return endpoint;
  if (failoverAddress !== undefined) return 'failover';
  return vswitch ? 'virtual-address' : 'first-node';
}

/** The rescue system of a server downloads the image itself, so an image served without TLS needs a known checksum. */
export const imageChecksumRule: SpecRule = {
  rule: "!has(self.hetznerRobot) || self.talos.factoryUrl.startsWith('https:') || (has(self.hetznerRobot.image) && has(self.hetznerRobot.image.sha256))",
  message: 'hetznerRobot.image.sha256 is required with http in talos.factoryUrl: set the checksum, or use https',
  fieldPath: '.hetznerRobot',
};
