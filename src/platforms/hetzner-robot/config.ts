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
  .describe('Address of the Robot webservice, always over TLS. Default: that of Hetzner.');

const LabelExpression = z.strictObject({
  key: z.string().min(1).max(316).describe('Key of the label.'),
  operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('How values are compared.'),
  values: z.array(z.string().max(63)).max(50).default([]).describe('For In and NotIn. Default: none.'),
});

const HostSelector = z
  .strictObject({
    matchLabels: z
      .record(z.string().max(316), z.string().max(63))
      .default({})
      .describe('Labels that a Host must have. Default: none.'),
    matchExpressions: z.array(LabelExpression).max(20).default([]).describe('Further conditions. Default: none.'),
  })
  .describe('Which Hosts are of this size, by their labels. An empty one takes all.');
export type HostSelector = z.infer<typeof HostSelector>;

const RobotSize = z.strictObject({
  name: sizeNameSchema,
  hostSelector: HostSelector,
});
export type RobotSize = z.infer<typeof RobotSize>;

const VSwitchConfig = z
  .strictObject({
    name: z.string().min(1).max(64).describe('Name of the vSwitch. Made when there is none with this VLAN.'),
    vlan: z.int().min(4000).max(4091).describe('VLAN tag, from 4000 to 4091.'),
    mtu: z.int().min(1280).max(1500).default(1400).describe('Largest packet, in bytes. Default: 1400.'),
  })
  .describe(
    'Private network between the nodes. They get addresses out of network.addressPool on it, and talk to each other over it.',
  );

/** The section `spec.hetznerRobot` of a ProviderConfig. */
export const RobotConfig = z
  .strictObject({
    url: webserviceUrl,
    credentialsRef: credentialsRefSchema(
      "The Secret with the keys username and password (of the webservice user, not of the web panel) and sshPrivateKey (in OpenSSH form, without a passphrase), in the provider's own namespace.",
    ),
    caBundle: caBundleSchema('the webservice'),
    sshPort: z
      .int()
      .min(1)
      .max(65535)
      .default(22)
      .describe('Port at which the rescue system answers SSH. Default: 22.'),
    image: z
      .strictObject({
        compression: z
          .enum(['zst', 'xz'])
          .default('zst')
          .describe('Form in which the disk image is fetched from the image factory. Default: zst.'),
        sha256: z
          .string()
          .max(64)
          .regex(/^[0-9a-f]{64}$/)
          .optional()
          .describe(
            'SHA-256 of the compressed image, for one Talos version and schematic. Default: the checksum of the image factory, where it gives one.',
          ),
      })
      .prefault({})
      .describe('The disk image that is written.'),
    vswitch: VSwitchConfig.optional(),
    endpoint: z
      .enum(['first-node', 'virtual-address', 'failover'])
      .optional()
      .describe(
        "Where the API server is reached when controlPlane.endpoint does not say: at the first control plane's own address, at an address of network.addressPool inside the vSwitch, or at a failover address. Default: virtual-address with a vSwitch, failover with a failoverAddress, else first-node.",
      ),
    failoverAddress: z
      .string()
      .regex(/^[0-9a-f.:]+$/)
      .max(45)
      .optional()
      .describe('A failover address of the account, which is routed to a control plane that works.'),
    sizes: sizesSchema(RobotSize, 'The sizes that machines may have: kinds of Hosts.'),
  })
  .meta(
    celValidations(
      [
        "!has(self.endpoint) || self.endpoint != 'virtual-address' || has(self.vswitch)",
        'hetznerRobot.endpoint: a virtual address needs hetznerRobot.vswitch: between servers of the public network it cannot be handed around',
      ],
      [
        "(has(self.endpoint) && self.endpoint == 'failover') == has(self.failoverAddress) || !has(self.endpoint)",
        'hetznerRobot.failoverAddress: it belongs to the endpoint failover, and that needs it',
      ],
    ),
  )
  .describe('Nodes as servers of Hetzner Robot, each described by a Host.');
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
  message:
    'hetznerRobot.image.sha256 must say what the image has to be while talos.factoryUrl is one of http: use https, or give the checksum',
  fieldPath: '.hetznerRobot',
};
