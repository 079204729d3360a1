import { z } from 'zod';
import { celValidations } from '../../../engine/config-schemas.ts';
import {
  datasetPrefix,
  hasSingleTrustAnchor,
  sharedFields,
  singleTrustAnchorIssue,
  singleTrustAnchorRule,
  systemFields,
} from './config.ts';

const requiredFields = ['url', 'credentialsRef', 'pool', 'bridge'] as const;
const singleSystemFields = [
  'url',
  'credentialsRef',
  'login',
  'caBundle',
  'tlsFingerprint',
  'pool',
  'furtherPools',
  'bridge',
  'mtu',
] as const;

const notBesideSystemsMessage =
  'fields of a single system (url, credentialsRef, pool and others) belong into the entries of systems';
const missingFieldMessage = (name: string): string => `truenas.${name} is required, unless truenas.systems is set`;

const SystemEntry = z
  .strictObject({
    name: z
      .string()
      .max(32)
      .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
      .describe(
        'Name of the system and failure domain. Do not change it while machines are on the system. Nodes have it as the label topology.kubernetes.io/zone.',
      ),
    ...systemFields,
    datasetPrefix: datasetPrefix
      .optional()
      .describe('Value of datasetPrefix on this system. Default: the value of the section.'),
  })
  .refine(hasSingleTrustAnchor, singleTrustAnchorIssue)
  .meta(celValidations(singleTrustAnchorRule));

const has = (name: string): string => `has(self.${name})`;

const singleSystemRules = celValidations(singleTrustAnchorRule, [
  `!has(self.systems) || !(${singleSystemFields.map(has).join(' || ')})`,
  `truenas.systems: ${notBesideSystemsMessage}`,
]);

/** Without a list of systems the field is required, with the error of a required field. */
const requiredFieldRule = (name: string) => ({
  rule: `has(self.systems) || ${has(name)}`,
  message: missingFieldMessage(name),
  fieldPath: `.${name}`,
  reason: 'FieldValueRequired',
});

/** The section `spec.truenas` of a ProviderConfig: one system, or several. */
export const TrueNasSection = z
  .strictObject({
    url: systemFields.url.optional(),
    credentialsRef: systemFields.credentialsRef.optional(),
    login: systemFields.login,
    caBundle: systemFields.caBundle,
    tlsFingerprint: systemFields.tlsFingerprint,
    pool: systemFields.pool.optional(),
    furtherPools: systemFields.furtherPools,
    bridge: systemFields.bridge.optional(),
    mtu: systemFields.mtu,
    systems: z
      .array(SystemEntry)
      .min(1)
      .max(16)
      .refine((systems) => new Set(systems.map(({ name }) => name)).size === systems.length, {
        message: 'names of systems must be unique',
      })
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .optional()
      .describe(
        'Several systems instead of url, credentialsRef, pool and bridge. The machines of each cluster are distributed over them. All systems must be on the same network.',
      ),
    ...sharedFields,
  })
  .refine(hasSingleTrustAnchor, singleTrustAnchorIssue)
  .refine(
    ({ systems, ...rest }) => systems === undefined || singleSystemFields.every((name) => rest[name] === undefined),
    {
      path: ['systems'],
      message: notBesideSystemsMessage,
    },
  )
  .superRefine(({ systems, ...rest }, context) => {
    if (systems !== undefined) return;
    for (const name of requiredFields) {
      if (rest[name] === undefined)
        context.addIssue({ code: 'custom', path: [name], message: missingFieldMessage(name) });
    }
  })
  .meta({
    'x-kubernetes-validations': [
      ...singleSystemRules['x-kubernetes-validations'],
      ...requiredFields.map(requiredFieldRule),
    ],
  })
  .describe('Nodes on virtual machines of TrueNAS systems, 25.04.2 or newer.');
export type TrueNasSection = z.infer<typeof TrueNasSection>;
