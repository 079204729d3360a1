import { defineConformanceSuite } from './conformance-suite.ts';
import { k3sApiServer } from './support/api-servers.ts';

defineConformanceSuite(await k3sApiServer());
