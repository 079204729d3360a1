import { z } from 'zod';
import { listMapBy, listSet } from './spec-fields.ts';

/** Without user name and password, which everyone who can read the ProviderConfig could use. */
const plainUrlSchema = z
  .string()
  .regex(/^https?:\/\/[^\s@]+$/)
  .max(512);

const Mirror = z.strictObject({
  registry: z
    .string()
    .regex(/^(\*|[a-z0-9.-]+(:[0-9]{1,5})?)$/)
    .max(255)
    .describe('Host of the registry in the names of images, e.g. docker.io or ghcr.io. *: each one without a mirror.'),
  endpoints: z
    .array(plainUrlSchema)
    .min(1)
    .max(8)
    .meta(listSet)
    .describe('URLs of mirrors, tried in order, e.g. https://mirror.example.org.'),
  overridePath: z
    .boolean()
    .default(false)
    .describe('Whether the path of the endpoints is complete, so that /v2 is not added to it. Default: false.'),
  skipFallback: z
    .boolean()
    .default(false)
    .describe('Whether the registry itself is not asked if no mirror has the image. Default: false.'),
});

export const RegistriesSchema = z
  .strictObject({
    mirrors: z
      .array(Mirror)
      .max(32)
      .default([])
      .meta(listMapBy('registry'))
      .describe('Registries with mirrors, also for the installer and the images of Kubernetes. Default: none.'),
    caBundle: z
      .string()
      .min(1)
      .max(65_536)
      .optional()
      .describe('PEM bundle of the CA certificates of all endpoints. Default: the public CAs.'),
  })
  .prefault({})
  .describe('Where nodes pull images from. A change restarts nodes, one at a time.');

export const ProxySchema = z
  .strictObject({
    http: plainUrlSchema.optional().describe('Proxy for http, e.g. http://proxy.example.org:3128. Default: none.'),
    https: plainUrlSchema.optional().describe('Proxy for https. Default: none.'),
    noProxy: z
      .array(
        z
          .string()
          .regex(/^[A-Za-z0-9.*:/-]+$/)
          .max(255),
      )
      .max(64)
      .default([])
      .meta(listSet)
      .describe(
        'Hosts, domains with a leading dot, addresses and ranges that are reached without the proxy, beside those of the cluster itself. Default: none.',
      ),
  })
  .optional()
  .describe(
    'HTTP proxy of the nodes for images, the image factory and the discovery service. A change restarts nodes, one at a time. Default: none.',
  );
