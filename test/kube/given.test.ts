import { suite } from './suite.ts';
import { given } from './support/platform.ts';

suite(given);
