import { z } from 'zod';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { conditionList, observedGeneration } from './condition-schema.ts';
import { group, version } from './names.ts';

const DiskHints = z.strictObject({
  serial: z.string().max(128).optional().describe('Serial number of the disk.'),
  wwn: z.string().max(128).optional().describe('World-wide name of the disk.'),
  minSizeGiB: z.int().min(10).max(1048576).optional().describe('Smallest size, in GiB.'),
  type: z.enum(['ssd', 'hdd', 'nvme']).optional().describe('Kind of disk.'),
});

const HostSpecSchema = z.strictObject({
  serverNumber: z
    .int()
    .min(1)
    .max(2147483647)
    .meta({
      'x-kubernetes-validations': [
        { rule: 'self == oldSelf', message: 'serverNumber cannot be changed: create a new Host instead' },
      ],
    })
    .describe('Number of the server at its provider. Immutable.'),
  address: z
    .string()
    .max(45)
    .optional()
    .describe('Main address that the server is expected to have. A server that has another is not touched.'),
  roles: z
    .array(z.enum(['controlplane', 'worker']))
    .min(1)
    .max(2)
    .default(['controlplane', 'worker'])
    .describe('Roles it may take. Default: both.'),
  wipe: z.boolean().default(false).describe('Whether disks with foreign data on them may be erased. Default: false.'),
  protectedDisks: z
    .array(z.string().max(128))
    .max(64)
    .default([])
    .describe('Serial numbers or world-wide names of disks that are never written to. Default: none.'),
  rootDisk: DiskHints.prefault({}).describe('Which disk Talos is installed to. Default: the smallest that fits.'),
  maintenance: z.boolean().default(false).describe('Keeps the server out of use. Default: false.'),
  description: z.string().max(1024).default('').describe('For people. Default: empty.'),
});

const HostStatusSchema = z.strictObject({
  observedGeneration,
  state: z.string().default('').describe('Available, Claimed, Provisioned, Deprovisioning, Maintenance or Failed.'),
  machineRef: z
    .strictObject({ name: z.string().describe('Name of the Machine.') })
    .optional()
    .describe('The Machine that holds it.'),
  message: z.string().optional().describe('What it is doing, or what it waits for.'),
  conditions: conditionList('Ready and what it depends on.'),
});

export const HostSpec = HostSpecSchema;
export type HostSpec = z.infer<typeof HostSpecSchema>;
export const HostStatus = HostStatusSchema;
export type HostStatus = z.infer<typeof HostStatusSchema>;

/** One physical server that may be used. A server without a Host is never touched. */
export interface Host extends KubeObject {
  spec: HostSpec;
  status?: HostStatus;
}
export const Host: ResourceType<Host> = { group, version, kind: 'Host', plural: 'hosts', namespaced: false };
