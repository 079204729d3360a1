import { z } from 'zod';
import { type HostHardware, type HostServer, hostStates } from '../engine/host.ts';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { group, version } from './names.ts';
import { conditionListSchema, observedGenerationSchema } from './schema/condition-schema.ts';
import {
  findHostSection,
  findSectionFault,
  hostSectionRules,
  hostSpecSections,
  hostStatusSections,
} from './schema/host-sections.ts';
import { HostHardwareSchema, HostServerSchema, HostTaskSchema } from './schema/host-status-schema.ts';
import { celValidation, listSet } from './schema/spec-fields.ts';

const diskNameSchema = z.string().min(1).max(128);
const sizeGiBSchema = z.int().min(1).max(1048576);

const ExpectedServerSchema = z
  .strictObject({
    address: z.string().min(1).max(45).optional().describe('Its main address, e.g. 203.0.113.41.'),
    product: z.string().min(1).max(64).optional().describe('Its product, e.g. AX42.'),
    name: z.string().min(1).max(253).optional().describe('Its name at the provider, while nobody uses it.'),
  })
  .meta(
    celValidation(
      'has(self.address) || has(self.product) || has(self.name)',
      'expect must have an address, a product or a name: an ID alone is mistyped too easily',
    ),
  )
  .describe('What the server of this ID has to be. One that differs is not touched.');

const RootDiskSchema = z
  .strictObject({
    serial: diskNameSchema.optional().describe('Its serial number.'),
    wwn: diskNameSchema.optional().describe('Its world-wide name.'),
    minSizeGiB: sizeGiBSchema.optional().describe('Smallest size, in GiB.'),
    maxSizeGiB: sizeGiBSchema.optional().describe('Largest size, in GiB.'),
    type: z.enum(['nvme', 'ssd', 'hdd']).optional().describe('Kind of disk.'),
    raidMembers: z
      .array(diskNameSchema)
      .max(32)
      .default([])
      .meta(listSet)
      .describe(
        'Serial numbers or world-wide names of other disks that form an array with it, which may be taken apart. Default: none.',
      ),
    allowFailing: z
      .boolean()
      .default(false)
      .describe('Whether it may be a disk that says it is failing. Default: false.'),
  })
  .meta(
    celValidation(
      '!has(self.minSizeGiB) || !has(self.maxSizeGiB) || self.minSizeGiB <= self.maxSizeGiB',
      'rootDisk.maxSizeGiB must not be smaller than rootDisk.minSizeGiB',
    ),
  )
  .prefault({})
  .describe('Which disk Talos is installed to. Default: the smallest that may be written to.');

/** A disk that is both named as root disk or array member and protected is a mistake in one of the two fields. */
const rootDiskNotProtectedRule = [
  '!(has(self.rootDisk.serial) && self.rootDisk.serial in self.protectedDisks)',
  '!(has(self.rootDisk.wwn) && self.rootDisk.wwn in self.protectedDisks)',
  '!self.rootDisk.raidMembers.exists(disk, disk in self.protectedDisks)',
].join(' && ');

const HostSpecSchema = z
  .strictObject({
    serverID: z
      .string()
      .min(1)
      .max(253)
      .meta(celValidation('self == oldSelf', 'serverID cannot be changed: create a new Host instead'))
      .describe('ID of the server at its provider. The platform section says what that is. Immutable.'),
    expect: ExpectedServerSchema,
    roles: z
      .array(z.enum(['controlplane', 'worker']))
      .min(1)
      .max(2)
      .default(['controlplane', 'worker'])
      .meta(listSet)
      .describe('Roles that it may take. Default: both.'),
    wipe: z.boolean().default(false).describe('Whether what others left on its disks may be erased. Default: false.'),
    protectedDisks: z
      .array(diskNameSchema)
      .max(64)
      .default([])
      .meta(listSet)
      .describe('Serial numbers or world-wide names of disks that are never written to. Default: none.'),
    rootDisk: RootDiskSchema,
    maintenance: z
      .boolean()
      .default(false)
      .describe('Keeps it out of use: no Machine is given it any more. One that has it keeps it. Default: false.'),
    description: z.string().max(1024).default('').describe('For people. Default: empty.'),
    ...hostSpecSections,
  })
  .superRefine((spec, context) => {
    const fault = findSectionFault(spec);
    if (fault) context.addIssue({ code: 'custom', ...fault });
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: rootDiskNotProtectedRule,
        message: 'rootDisk names a disk of protectedDisks: take it out of one of them',
      },
      ...hostSectionRules,
    ],
  });

const HostStatusSchema = z.strictObject({
  observedGeneration: observedGenerationSchema,
  state: z.enum(hostStates).default('Pending').describe('What the server is being used for.'),
  machineRef: z
    .strictObject({
      name: z.string().describe('Name of the Machine.'),
      uid: z.string().describe('UID of the Machine: one that is made again under its name is another.'),
      since: z.string().meta({ format: 'date-time' }).describe('When it was claimed.'),
    })
    .optional()
    .describe('The Machine that holds it.'),
  server: HostServerSchema.optional(),
  hardware: HostHardwareSchema.optional(),
  task: HostTaskSchema.optional(),
  message: z.string().optional().describe('What it is doing, or what it waits for.'),
  conditions: conditionListSchema('Ready and what it depends on.'),
  ...hostStatusSections,
});

export const HostSpec = HostSpecSchema;
export type HostSpec = z.infer<typeof HostSpecSchema>;
export const HostStatus = HostStatusSchema;
export type HostStatus = Omit<z.infer<typeof HostStatusSchema>, 'server' | 'hardware'> & {
  server?: HostServer | undefined;
  hardware?: HostHardware | undefined;
};

/** One physical server that the provider may use. A server without a Host is never touched. */
export interface Host extends KubeObject {
  spec: HostSpec;
  status?: HostStatus;
}
/** Identifies the server of a Host: Hosts with the same key are for the same server. */
export const serverKeyOf = ({ spec }: Host): string => `${findHostSection(spec)?.name}/${spec.serverID}`;

export const hostsOfPlatform = (hosts: readonly Host[], platform: string): readonly Host[] =>
  hosts.filter(({ spec }) => findHostSection(spec)?.name === platform);

export const serverIDsOf = (hosts: readonly Host[]): ReadonlySet<string> =>
  new Set(hosts.map(({ spec }) => spec.serverID));

export const Host: ResourceType<Host> = { group, version, kind: 'Host', plural: 'hosts', namespaced: false };
